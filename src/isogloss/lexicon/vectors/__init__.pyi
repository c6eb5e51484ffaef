from ._normalising import Normaliser as Normaliser
from ._normalising import fit_normaliser as fit_normaliser
from ._vectors import WordVectors as WordVectors
