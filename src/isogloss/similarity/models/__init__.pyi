from ._base import DocumentModel as DocumentModel
from ._base import TextModel as TextModel
from ._base import WordPulls as WordPulls
from ._base import project_weighted as project_weighted
from ._base import unit_rows as unit_rows
from ._encoder import EncoderSimilarity as EncoderSimilarity
from ._encoder import rerank as rerank
from ._lsi import basis_size as basis_size
