"""EM steps of a Gaussian mixture, diagonal covariances, 200,000 x 20, 32 components: ours and scikit-learn's.

Accuracy is the log-likelihood per row after the steps, from the same start.
"""

from benchmarks._mixture import against_scikit_learn
from benchmarks.harness import Result


def main() -> Result:
    """Compare them."""
    return against_scikit_learn("mixture_diag", "diag")
