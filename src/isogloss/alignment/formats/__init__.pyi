from ._links import Gold as Gold
from ._render import COLOUR as COLOUR
from ._render import GOLD as GOLD
from ._tables import fertility_rows as fertility_rows
from ._tables import jump_rows as jump_rows
from ._tables import lexicon_rows as lexicon_rows
