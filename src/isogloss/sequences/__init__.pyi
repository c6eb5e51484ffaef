from ._arpa import read_arpa as read_arpa
from ._arpa import write_arpa as write_arpa
from ._backoff import BackoffModel as BackoffModel
from ._hmm import DiscreteHMM as DiscreteHMM
from ._hmm_steps import HMMParameters as HMMParameters
from ._ngram import NgramModel as NgramModel
from ._ngram import count_ngrams as count_ngrams
