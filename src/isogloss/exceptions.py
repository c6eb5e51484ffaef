"""The errors isogloss raises itself.

Mathematics raises ``ValueError``, ``TypeError`` and scikit-learn's ``NotFittedError``. Everything
that touches the world derives from one root::

    IsoglossError
    ├── ModelFileError     a model file is truncated, changed, of an unknown version or class
    ├── EngineError        a cluster could not finish a computation
    ├── VectorFileError    a file of word vectors cannot be read or written
    ├── DictionaryError    a bilingual dictionary is unreadable, empty, or of no use with the vectors
    ├── CorpusError        parallel text, documents, a corpus or a file of links cannot be read or written
    └── NetworkFileError   a file of a Bayesian network cannot be read or written

    DecreaseError (ArithmeticError)    an EM step made the bound fall and on_decrease='raise'
"""

__all__ = [
    "CorpusError",
    "DecreaseError",
    "DictionaryError",
    "EngineError",
    "IsoglossError",
    "ModelFileError",
    "NetworkFileError",
    "VectorFileError",
]


class IsoglossError(Exception):
    """Root of the errors that come from files, networks and clusters."""


class ModelFileError(IsoglossError):
    """A model file cannot be read or written; the message names the file and the reason."""


class EngineError(IsoglossError):
    """A computation on a cluster failed in a way that a retry did not cure."""


class VectorFileError(IsoglossError):
    """A file of word vectors cannot be read or written; the message names the file and the line."""


class DictionaryError(IsoglossError):
    """A bilingual dictionary cannot be read, written or used; the message says why, with counts."""


class CorpusError(IsoglossError):
    """Text, a corpus or a file of links cannot be read or written; the message names the place."""


class NetworkFileError(IsoglossError):
    """A file of a Bayesian network cannot be read or written; the message names the file and the line."""


class DecreaseError(ArithmeticError):
    """The lower bound fell during EM, which a correct step cannot do."""
