from .arpa import read_arpa as read_arpa
from .arpa import write_arpa as write_arpa
from .backoff import BackoffModel as BackoffModel
from .bernoulli_mixture import BernoulliMixture as BernoulliMixture
from .bif import read_bif as read_bif
from .bif import write_bif as write_bif
from .cpd import CPD as CPD
from .drawing import Plate as Plate
from .em_steps import NetworkParameters as NetworkParameters
from .examples import asia as asia
from .examples import student as student
from .family_counts import FamilyCounts as FamilyCounts
from .hmm import DiscreteHMM as DiscreteHMM
from .hmm_steps import HMMParameters as HMMParameters
from .independence import (
    active_trail as active_trail,
)
from .independence import (
    d_separated as d_separated,
)
from .independence import (
    explain as explain,
)
from .independence import (
    markov_blanket as markov_blanket,
)
from .inference import Inference as Inference
from .latent_class import LatentClassParameters as LatentClassParameters
from .learning import NetworkLearner as NetworkLearner
from .lexical_graph import lexical_network as lexical_network
from .most_probable import Explanation as Explanation
from .naive_bayes import NaiveBayes as NaiveBayes
from .network import BayesianNetwork as BayesianNetwork
from .network_files import read_network as read_network
from .network_files import write_network as write_network
from .ngram import NgramModel as NgramModel
from .ngram import count_ngrams as count_ngrams
from .render import NetworkPicture as NetworkPicture
from .rows import (
    Observations as Observations,
)
from .rows import (
    decode as decode,
)
from .rows import (
    encode as encode,
)
from .rows import (
    read_rows as read_rows,
)
from .rows import (
    write_rows as write_rows,
)
from .sampling import (
    WeightedEstimate as WeightedEstimate,
)
from .sampling import (
    likelihood_weighting as likelihood_weighting,
)
from .sampling import (
    sample as sample,
)
from .scores import bdeu as bdeu
from .scores import bic as bic
from .scores import compare_structures as compare_structures
from .sequences import Sequences as Sequences
from .statements import (
    IMap as IMap,
)
from .statements import (
    Statement as Statement,
)
from .statements import (
    check_imap as check_imap,
)
from .statements import (
    global_statements as global_statements,
)
from .statements import (
    holds as holds,
)
from .statements import (
    local_statements as local_statements,
)
from .structure import Structure as Structure
from .table import Table as Table
from .trees import chow_liu as chow_liu
from .trees import mutual_information as mutual_information
from .unrolled import unrolled_hmm as unrolled_hmm
from .unrolled import unrolled_markov as unrolled_markov
from .variables import Variable as Variable
from .xmlbif import read_xmlbif as read_xmlbif
from .xmlbif import write_xmlbif as write_xmlbif
