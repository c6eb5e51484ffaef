"""Word alignment: which words of two sentences translate each other."""

from isogloss.alignment.aligner import Aligner, Posterior
from isogloss.alignment.bitext import Bitext, Sentences, Vocabulary, WordForms
from isogloss.alignment.classes import exchange_classes
from isogloss.alignment.fertility import FertilityAligner
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
    "FertilityAligner",
    "FertilityParameters",
    "Gold",
    "Links",
    "PairTable",
    "Posterior",
    "Progress",
    "Sentences",
    "Stage",
    "Vocabulary",
    "WordForms",
    "exchange_classes",
    "itg_links",
    "read_gold",
    "read_naacl",
    "read_pharaoh",
    "score_links",
    "symmetrise",
    "write_gold",
    "write_naacl",
    "write_pharaoh",
]
