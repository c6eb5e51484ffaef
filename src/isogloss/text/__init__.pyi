from .counting import count_frequencies as count_frequencies
from .counting import count_words as count_words
from .frequencies import DocumentFrequencies as DocumentFrequencies
from .frequencies import FrequencyWindow as FrequencyWindow
from .gazetteer import Gazetteer as Gazetteer
from .gazetteer import Mention as Mention
from .gazetteer import Place as Place
from .identification import identify as identify
from .languages import (
    Language as Language,
)
from .languages import (
    known_languages as known_languages,
)
from .languages import (
    language as language,
)
from .languages import (
    stopwords as stopwords,
)
from .tokens import Tokeniser as Tokeniser
from .vectoriser import TextVectoriser as TextVectoriser
from .vocabulary import Vocabulary as Vocabulary
from .weighting import TermWeighting as TermWeighting
