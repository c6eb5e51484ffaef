from .building import CheckedSpace as CheckedSpace
from .building import build_space as build_space
from .chance import ChanceTest as ChanceTest
from .chance import chance_test as chance_test
from .concepts import concept_table as concept_table
from .concepts import concept_views as concept_views
from .csls import (
    csls_both as csls_both,
)
from .csls import (
    csls_means as csls_means,
)
from .csls import (
    csls_top_k as csls_top_k,
)
from .csls import (
    unit_rows as unit_rows,
)
from .dictionaries import (
    BilingualDictionary as BilingualDictionary,
)
from .dictionaries import (
    Coverage as Coverage,
)
from .dictionaries import (
    read_dictionary as read_dictionary,
)
from .dictionaries import (
    write_dictionary as write_dictionary,
)
from .evaluation import (
    Band as Band,
)
from .evaluation import (
    Evaluation as Evaluation,
)
from .evaluation import (
    evaluate_induced as evaluate_induced,
)
from .evaluation import (
    evaluate_space as evaluate_space,
)
from .explore import Neighbour as Neighbour
from .explore import Neighbourhood as Neighbourhood
from .explore import neighbourhood as neighbourhood
from .induction import (
    InducedDictionary as InducedDictionary,
)
from .induction import (
    induce as induce,
)
from .induction import (
    mutual_pairs as mutual_pairs,
)
from .induction import (
    read_induced as read_induced,
)
from .induction import (
    write_induced as write_induced,
)
from .normalising import Normaliser as Normaliser
from .normalising import fit_normaliser as fit_normaliser
from .procrustes import Procrustes as Procrustes
from .reading import read_vectors as read_vectors
from .reading import read_vectors_with_report as read_vectors_with_report
from .refinement import Refinement as Refinement
from .refinement import Round as Round
from .refinement import refine as refine
from .retrieval import Matches as Matches
from .retrieval import retrieve as retrieve
from .seeds import identical_words as identical_words
from .seeds import numerals as numerals
from .smoothing import smoothed as smoothed
from .spaces import WordSpace as WordSpace
from .text_vectors import ReadReport as ReadReport
from .vectors import WordVectors as WordVectors
from .writing import write_vectors as write_vectors
