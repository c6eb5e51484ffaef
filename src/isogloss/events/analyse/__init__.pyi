from ._analyser import Prepared as Prepared
from ._analyser import Preparer as Preparer
from ._analyser import PreparerDiedError as PreparerDiedError
