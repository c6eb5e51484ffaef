"""The errors isogloss raises itself.

Mathematics raises ``ValueError``, ``TypeError`` and scikit-learn's ``NotFittedError``. Everything
that touches the world derives from one root::

    IsoglossError
    ├── ModelFileError     a model file is truncated, changed, of an unknown version or class
    ├── EngineError        a cluster could not finish a computation
    ├── VectorFileError    a file of word vectors cannot be read or written
    ├── DictionaryError    a bilingual dictionary is unreadable, empty, or of no use with the vectors
    ├── CorpusError        parallel text, documents, a corpus or a file of links cannot be read or written
    ├── FeedError          a page or a feed was refused, could not be fetched or cannot be read
    ├── NetworkFileError   a file of a Bayesian network cannot be read or written
    ├── ArticleError       a record is no article, or a file of articles or concepts cannot be read
    ├── SettingsError      a file of settings cannot be read or has a value that cannot be
    ├── ServiceClientError a service refuses a request or does not answer
    └── StoreError         a database cannot be opened, read or written
        ├── StoreBusyError     somebody else is writing, or the server went away; try again
        ├── StoreFullError     there is no room left on the disk
        ├── ReplayError        events cannot be continued from the checkpoints and the journal
        └── StoreVersionError  the database was made by a newer isogloss

    DecreaseError (ArithmeticError)    an EM step made the bound fall and on_decrease='raise'
"""

__all__ = [
    "ArticleError",
    "CorpusError",
    "DecreaseError",
    "DictionaryError",
    "EngineError",
    "FeedError",
    "IsoglossError",
    "ModelFileError",
    "NetworkFileError",
    "ReplayError",
    "ServiceClientError",
    "SettingsError",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "StoreVersionError",
    "TableError",
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


class TableError(IsoglossError):
    """A table of numbers cannot be read or written; the message names the file, the row and the column."""


class ArticleError(IsoglossError):
    """A record is no article; ``reason`` says why in a word or two, the message in a sentence.

    Parameters
    ----------
    reason : str
        What kind of problem it is, for counting.
    what : str
        The sentence.
    """

    def __init__(self, reason: str, what: str = "") -> None:
        super().__init__(what or reason)
        self.reason = reason


class FeedError(IsoglossError):
    """A page or a feed was refused, could not be fetched or cannot be read; the message names it.

    Parameters
    ----------
    message : str
        What happened.
    wait : float
        Seconds for which the server asked not to be asked again; 0 if it did not.
    status : int
        HTTP status of the response; 0 if there was none.
    """

    def __init__(self, message: str, *, wait: float = 0.0, status: int = 0) -> None:
        super().__init__(message)
        self.wait, self.status = wait, status


class SettingsError(IsoglossError):
    """A file of settings cannot be read, or has a name or a value that cannot be."""


class ServiceClientError(IsoglossError):
    """A service refuses a request or does not answer.

    Parameters
    ----------
    what : str
        The sentence.
    status : int
        The status of the answer; 0 when there was none.
    code : str
        What the service calls the error.
    """

    def __init__(self, what: str, *, status: int = 0, code: str = "") -> None:
        super().__init__(what)
        self.status, self.code = status, code


class StoreError(IsoglossError):
    """A database cannot be opened, read or written; what was acknowledged before is safe."""


class StoreBusyError(StoreError):
    """Somebody else has been writing for longer than we wait, or the server went away; try again."""


class StoreFullError(StoreError):
    """There is no room left for the database; nothing was written, reading goes on."""


class ReplayError(StoreError):
    """Events cannot be continued from the remaining checkpoints and journal; the message says what to do.

    To go on all the same would give numbers of clusters and events to other stories.
    """


class StoreVersionError(StoreError):
    """The database was made by a newer isogloss; it is left as it is."""


class DecreaseError(ArithmeticError):
    """The lower bound fell during EM, which a correct step cannot do."""
