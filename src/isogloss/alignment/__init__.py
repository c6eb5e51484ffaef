"""Word alignment: which words of two sentences translate each other."""

from isogloss.alignment.aligner import Aligner, Posterior
from isogloss.alignment.bitext import Bitext, Sentences, WordForms, WordList
from isogloss.alignment.classes import exchange_classes
from isogloss.alignment.fertility import FertilityOptions
from isogloss.alignment.fertility_state import FertilityState
from isogloss.alignment.fertility_steps import FertilityParameters
from isogloss.alignment.formats import (
    Gold,
    read_gold,
    read_naacl,
    read_pharaoh,
    write_gold,
    write_naacl,
    write_pharaoh,
)
from isogloss.alignment.itg import itg_links
from isogloss.alignment.links import Links
from isogloss.alignment.pairs import PairTable
from isogloss.alignment.prior_files import read_priors, write_fertilities, write_jumps
from isogloss.alignment.priors import Priors
from isogloss.alignment.render import AlignmentPicture
from isogloss.alignment.schedule import Progress, Stage
from isogloss.alignment.score import AlignmentScore, score_links
from isogloss.alignment.steps import AlignmentParameters
from isogloss.alignment.symmetrise import symmetrise

__all__ = [
    "Aligner",
    "AlignmentParameters",
    "AlignmentPicture",
    "AlignmentScore",
    "Bitext",
    "FertilityOptions",
    "FertilityParameters",
    "FertilityState",
    "Gold",
    "Links",
    "PairTable",
    "Posterior",
    "Priors",
    "Progress",
    "Sentences",
    "Stage",
    "WordForms",
    "WordList",
    "exchange_classes",
    "itg_links",
    "read_gold",
    "read_naacl",
    "read_pharaoh",
    "read_priors",
    "score_links",
    "symmetrise",
    "write_fertilities",
    "write_gold",
    "write_jumps",
    "write_naacl",
    "write_pharaoh",
]
