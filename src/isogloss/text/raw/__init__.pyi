from ._scripts import count_scripts as count_scripts
from ._scripts import mixed_scripts as mixed_scripts
from ._sentences import SplitText as SplitText
from ._sentences import split_paragraphs as split_paragraphs
from ._sentences import split_sentences as split_sentences
from ._sentences import split_text as split_text
from ._spelling import Spelling as Spelling
