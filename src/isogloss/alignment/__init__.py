"""Word alignment: which words of two sentences translate each other."""

from isogloss.alignment.aligner import Aligner, Posterior
from isogloss.alignment.bitext import Bitext, Sentences, Vocabulary, WordForms
from isogloss.alignment.classes import exchange_classes
from isogloss.alignment.fertility import FertilityAligner
from isogloss.alignment.fertility_steps import FertilityParameters
from isogloss.alignment.links import Links
from isogloss.alignment.pairs import PairTable
from isogloss.alignment.schedule import Progress, Stage
from isogloss.alignment.steps import AlignmentParameters
from isogloss.alignment.symmetrise import symmetrise

__all__ = [
    "Aligner",
    "AlignmentParameters",
    "Bitext",
    "FertilityAligner",
    "FertilityParameters",
    "Links",
    "PairTable",
    "Posterior",
    "Progress",
    "Sentences",
    "Stage",
    "Vocabulary",
    "WordForms",
    "exchange_classes",
    "symmetrise",
]
