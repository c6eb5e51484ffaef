from .aligner import Aligner as Aligner
from .aligner import Posterior as Posterior
from .bitext import Bitext as Bitext
from .bitext import Sentences as Sentences
from .bitext import WordForms as WordForms
from .bitext import WordList as WordList
from .classes import exchange_classes as exchange_classes
from .fertility import FertilityOptions as FertilityOptions
from .fertility_state import FertilityState as FertilityState
from .fertility_steps import FertilityParameters as FertilityParameters
from .formats import (
    Gold as Gold,
)
from .formats import (
    read_gold as read_gold,
)
from .formats import (
    read_naacl as read_naacl,
)
from .formats import (
    read_pharaoh as read_pharaoh,
)
from .formats import (
    write_gold as write_gold,
)
from .formats import (
    write_naacl as write_naacl,
)
from .formats import (
    write_pharaoh as write_pharaoh,
)
from .itg import itg_links as itg_links
from .links import Links as Links
from .pairs import PairTable as PairTable
from .prior_files import (
    read_priors as read_priors,
)
from .prior_files import (
    write_fertilities as write_fertilities,
)
from .prior_files import (
    write_jumps as write_jumps,
)
from .priors import Priors as Priors
from .render import AlignmentPicture as AlignmentPicture
from .schedule import Progress as Progress
from .schedule import Stage as Stage
from .score import AlignmentScore as AlignmentScore
from .score import score_links as score_links
from .steps import AlignmentParameters as AlignmentParameters
from .symmetrisation import symmetrise as symmetrise
