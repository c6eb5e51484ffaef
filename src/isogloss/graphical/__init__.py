"""Directed graphical models over discrete variables.

What learns from data is imported when it is first asked for, so that a network can be opened and asked
questions at once.

=====================  ==================================================================
``variables``          a variable and its states
``table``              numbers with named axes
``cpd``                the distribution of a variable given its parents
``structure``          directed acyclic graphs
``network``            a graph with its distributions
``rows``               observations as codes
``examples``           networks of the literature
``independence``       d-separation, open trails in words, Markov blankets
``statements``         local and global independencies, I-maps
``inference``          exact answers: posteriors, most probable states, likelihoods
``most_probable``      the best states, by elimination
``batched``            posteriors of many rows with different evidence
``kinds``              rows sorted by what is hidden together
``plans``              compiled questions
``relevance``          which tables a question needs
``contraction``        products of tables along an optimised path
``junction``           calibrated junction trees
``sampling``           forward sampling, likelihood weighting
``learning``           probabilities from rows, by counting and by EM
``family_counts``      the counts that learning adds up
``em_steps``           the E- and M-step over distinct cases
``layout``             all tables of a network as one vector
``scores``             comparing graphs: BIC, BDeu
``trees``              the tree that fits best
``ngram``              n-gram language models
``backoff``            their probabilities, by backing off
``smoothing``          maximum likelihood, add-k, Kneser-Ney
``arpa``               language models in ARPA files
``hmm``                hidden Markov models
``hmm_steps``          their E- and M-step
``sequences``          sequences of symbols as codes
``unrolled``           sequence models as networks
``latent_class``       a hidden or partly known class
``naive_bayes``        the classifier
``bernoulli_mixture``  clusters of binary rows
``lexical_graph``      IBM Model 1 as a network
``network_files``      networks in files of any kind
``bif``                the Bayesian Interchange Format
``xmlbif``             the same in XML
``reading``            what the readers share
``render``             pictures: text, SVG, HTML, LaTeX
``drawing``            where the nodes of a picture are
``latex``              TikZ and tabulars
``markup``             names in LaTeX and XML
=====================  ==================================================================
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isogloss.graphical.bif import read_bif, write_bif
from isogloss.graphical.cpd import CPD
from isogloss.graphical.drawing import Plate
from isogloss.graphical.examples import asia, student
from isogloss.graphical.independence import active_trail, d_separated, explain, markov_blanket
from isogloss.graphical.inference import Inference
from isogloss.graphical.lexical_graph import lexical_network
from isogloss.graphical.most_probable import Explanation
from isogloss.graphical.network import BayesianNetwork
from isogloss.graphical.network_files import read_network, write_network
from isogloss.graphical.render import NetworkPicture
from isogloss.graphical.rows import Observations, decode, encode, read_rows, write_rows
from isogloss.graphical.sampling import WeightedEstimate, likelihood_weighting, sample
from isogloss.graphical.statements import (
    IMap,
    Statement,
    check_imap,
    global_statements,
    holds,
    local_statements,
)
from isogloss.graphical.structure import Structure
from isogloss.graphical.table import Table
from isogloss.graphical.unrolled import unrolled_hmm, unrolled_markov
from isogloss.graphical.variables import Variable
from isogloss.graphical.xmlbif import read_xmlbif, write_xmlbif

if TYPE_CHECKING:
    from isogloss.graphical.arpa import read_arpa, write_arpa
    from isogloss.graphical.backoff import BackoffModel
    from isogloss.graphical.bernoulli_mixture import BernoulliMixture
    from isogloss.graphical.em_steps import NetworkParameters
    from isogloss.graphical.family_counts import FamilyCounts
    from isogloss.graphical.hmm import DiscreteHMM
    from isogloss.graphical.hmm_steps import HMMParameters
    from isogloss.graphical.latent_class import LatentClassParameters
    from isogloss.graphical.learning import NetworkLearner
    from isogloss.graphical.naive_bayes import NaiveBayes
    from isogloss.graphical.ngram import NgramModel, count_ngrams
    from isogloss.graphical.scores import bdeu, bic, compare_structures
    from isogloss.graphical.sequences import Sequences
    from isogloss.graphical.trees import chow_liu, mutual_information

__all__ = [
    "CPD",
    "BackoffModel",
    "BayesianNetwork",
    "BernoulliMixture",
    "DiscreteHMM",
    "Explanation",
    "FamilyCounts",
    "HMMParameters",
    "IMap",
    "Inference",
    "LatentClassParameters",
    "NaiveBayes",
    "NetworkLearner",
    "NetworkParameters",
    "NetworkPicture",
    "NgramModel",
    "Observations",
    "Plate",
    "Sequences",
    "Statement",
    "Structure",
    "Table",
    "Variable",
    "WeightedEstimate",
    "active_trail",
    "asia",
    "bdeu",
    "bic",
    "check_imap",
    "chow_liu",
    "compare_structures",
    "count_ngrams",
    "d_separated",
    "decode",
    "encode",
    "explain",
    "global_statements",
    "holds",
    "lexical_network",
    "likelihood_weighting",
    "local_statements",
    "markov_blanket",
    "mutual_information",
    "read_arpa",
    "read_bif",
    "read_network",
    "read_rows",
    "read_xmlbif",
    "sample",
    "student",
    "unrolled_hmm",
    "unrolled_markov",
    "write_arpa",
    "write_bif",
    "write_network",
    "write_rows",
    "write_xmlbif",
]

_LEARNING = {
    "BackoffModel": "backoff",
    "BernoulliMixture": "bernoulli_mixture",
    "DiscreteHMM": "hmm",
    "FamilyCounts": "family_counts",
    "HMMParameters": "hmm_steps",
    "LatentClassParameters": "latent_class",
    "NaiveBayes": "naive_bayes",
    "NetworkLearner": "learning",
    "NetworkParameters": "em_steps",
    "NgramModel": "ngram",
    "Sequences": "sequences",
    "bdeu": "scores",
    "bic": "scores",
    "chow_liu": "trees",
    "compare_structures": "scores",
    "count_ngrams": "ngram",
    "mutual_information": "trees",
    "read_arpa": "arpa",
    "write_arpa": "arpa",
}
"""Names whose modules are imported when they are asked for."""


def __getattr__(name: str) -> Any:
    if name in _LEARNING:
        return getattr(import_module(f"{__name__}.{_LEARNING[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
