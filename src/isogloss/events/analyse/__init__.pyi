from ._analyser import Prepared as Prepared
from ._analyser import Preparer as Preparer
from ._analyser import PreparerDiedError as PreparerDiedError
from ._prepared_bytes import from_bytes as from_bytes
from ._prepared_bytes import to_bytes as to_bytes
