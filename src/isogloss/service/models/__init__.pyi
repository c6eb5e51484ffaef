from ._comparison import TextComparer as TextComparer
from ._comparison import topic_answer as topic_answer
from ._registry import Models as Models
from ._registry import WordTranslations as WordTranslations
from ._registry import resolve_language as resolve_language
from ._similarity import STORE_PREFIX as STORE_PREFIX
from ._similarity import SimilarityModel as SimilarityModel
from ._similarity import model_for_events as model_for_events
