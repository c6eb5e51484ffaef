from . import alignment as alignment
from . import corpora as corpora
from . import em as em
from . import engine as engine
from . import events as events
from . import exceptions as exceptions
from . import factor as factor
from . import feeds as feeds
from . import graphical as graphical
from . import io as io
from . import lexicon as lexicon
from . import linalg as linalg
from . import mixture as mixture
from . import multiview as multiview
from . import plotting as plotting
from . import sequences as sequences
from . import service as service
from . import similarity as similarity
from . import stats as stats
from . import store as store
from . import text as text
from . import threads as threads
from . import topics as topics
from . import views as views
from . import wikipedia as wikipedia

__version__: str
