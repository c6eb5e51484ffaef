r"""N-gram language models.

.. math:: p(x_1 \dots x_n) = \prod_{i=1}^{n+1} p(x_i \mid x_{i-k+1} \dots x_{i-1})

with :math:`x_0` the begin and :math:`x_{n+1}` the end of the sentence. The bigram model (k = 2) is the chain
X1 -> X2 -> ... of :meth:`NgramModel.network`. All that is kept of the text is counts, which add.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import POSITIVE, POSITIVE_INT, Constraints, Estimator, StrOptions
from isogloss.graphical import BayesianNetwork, unrolled_markov
from isogloss.sequences._backoff import BEGIN, END, BackoffModel, tokens_of
from isogloss.sequences._smoothing import add_k, kneser_ney, maximum_likelihood, ngram_trie
from isogloss.stats import Counts

Sentences = Iterable[str | Sequence[str]]


class NgramModel(Estimator):
    """A language model that looks ``order - 1`` words back.

    Parameters
    ----------
    order : int
        Length of the longest n-grams; 2 is a bigram model.
    smoothing : {'kneser_ney', 'add_k', 'mle'}
        Interpolated modified Kneser-Ney; ``k`` more counts for every word after every context; or relative
        frequencies, which give probability zero to everything that was not seen.
    k : float
        The counts of 'add_k'.
    discount : float or sequence of 3 floats, optional
        What Kneser-Ney takes from counts of 1, 2, and 3 or more; estimated from the counts by default.
    vocabulary : collection of str, optional
        The words; others are unknown. By default the words seen at least ``min_count`` times.
    min_count : int
        See ``vocabulary``.
    random_state : int, RandomState or None
        Seed of ``sample``.

    Attributes
    ----------
    counts_ : :class:`~isogloss.stats.Counts`
        How often each n-gram of up to ``order`` words was seen, as :func:`count_ngrams` counts them.
    model_ : :class:`~isogloss.sequences.BackoffModel`
        The probabilities.

    Notes
    -----
    Sentences are lists of words, or texts that are split at spaces. Words that are not in the vocabulary are
    all the one word ``<unk>``. When all words of the text are in it, the unknown word has no count: its
    probability is zero under 'mle', what ``k`` gives under 'add_k', and its share of the uniform distribution
    under Kneser-Ney. Counts of several texts, counted anywhere, merge to those of all of them, and ``fit``
    takes them in place of sentences.

    Examples
    --------
    >>> text = ["the black dog", "the nice dog", "the black cat", "the cat"]
    >>> bigram = NgramModel(2, smoothing="mle").fit(text)
    >>> bigram.prob("black", ["the"]), bigram.prob("dog", ["black"]), bigram.prob("the", ["<s>"])
    (0.5, 0.5, 1.0)
    >>> round(bigram.perplexity(["the black dog"]), 4)
    1.4142
    >>> smooth = NgramModel(2).fit(text)
    >>> smooth.continuations(["nice"], 2)
    [('dog', 0.644...), ('</s>', 0.098...)]
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "order": [POSITIVE_INT],
        "smoothing": [StrOptions({"mle", "add_k", "kneser_ney"})],
        "k": [POSITIVE],
        "discount": [POSITIVE, list, tuple, None],
        "vocabulary": [Collection, None],
        "min_count": [POSITIVE_INT],
        "random_state": ["random_state"],
    }

    counts_: Counts
    model_: BackoffModel

    def __init__(
        self,
        order: int = 3,
        *,
        smoothing: str = "kneser_ney",
        k: float = 1.0,
        discount: float | Sequence[float] | None = None,
        vocabulary: Collection[str] | None = None,
        min_count: int = 1,
        random_state: Any = None,
    ) -> None:
        self.order = order
        self.smoothing = smoothing
        self.k = k
        self.discount = discount
        self.vocabulary = vocabulary
        self.min_count = min_count
        self.random_state = random_state

    def fit(self, X: Sentences | Counts, y: Any = None) -> Self:
        """Count the n-grams of sentences, or take counts, and estimate the probabilities."""
        self._validate_params()
        self.counts_ = Counts().merge(X) if isinstance(X, Counts) else count_ngrams(X, self.order)
        return self._solve()

    def partial_fit(self, X: Sentences | Counts, y: Any = None) -> Self:
        """Add sentences, or counts, to what was counted before; the probabilities are estimated anew."""
        if not hasattr(self, "counts_"):
            return self.fit(X)
        self._validate_params()
        self.counts_.merge(X if isinstance(X, Counts) else count_ngrams(X, self.order))
        return self._solve()

    def prob(self, word: str, context: Sequence[str] = ()) -> float:
        """The probability of a word after others; sentences begin with ``<s>`` and end with ``</s>``."""
        return self._fitted().prob(word, context)

    def continuations(self, context: Sequence[str] = (), n: int = 10) -> list[tuple[str, float]]:
        """The likeliest next words, with their probabilities."""
        model = self._fitted()
        p = model.distribution(context)
        best = np.argsort(-p, kind="stable")[:n]
        return [(model.words[i], float(p[i])) for i in best]

    def score_samples(self, X: Sentences) -> NDArray[np.float64]:
        """Log probability of each sentence, with its end."""
        return self._fitted().score_sentences(X)[0]

    def score(self, X: Sentences, y: Any = None) -> float:
        """Mean log probability of a word; the end of a sentence is one."""
        logs, events = self._fitted().score_sentences(X)
        return float(logs.sum() / events.sum())

    def perplexity(self, X: Sentences) -> float:
        """The inverse of the geometric mean of the probabilities of the words; smaller is better."""
        return self._fitted().perplexity(X)

    def sample(
        self, n_sentences: int = 1, *, context: Sequence[str] = (), longest: int = 100
    ) -> list[list[str]]:
        """Draw sentences, or what may follow the beginning ``context`` of one."""
        rng, model = check_random_state(self.random_state), self._fitted()
        return [model.sample(rng, context=context, longest=longest) for _ in range(n_sentences)]

    def network(self, length: int) -> BayesianNetwork:
        """The graph X1 -> X2 -> ... of the first ``length`` words of a bigram model; ends stay ends.

        Tables have a row and a column per word, so this is for small vocabularies.
        """
        model = self._fitted()
        if model.order != 2:
            raise ValueError(
                f"a model of order {model.order}; the chain of words is that of a bigram, order=2"
            )
        words = [word for word in model.words if word != BEGIN]
        keep = [model.ids[word] for word in words]
        rows = [
            np.eye(len(words))[words.index(END)] if w == END else model.distribution([w])[keep] for w in words
        ]
        return unrolled_markov(model.distribution([BEGIN])[keep], rows, length, words)

    def _fitted(self) -> BackoffModel:
        check_is_fitted(self, "model_")
        return self.model_

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.discount is not None and not all(0 < d <= i for i, d in enumerate(self._discounts(), 1)):
            raise ValueError(f"discount={self.discount!r}; expected above 0 and at most 1, 2 and 3")

    def _discounts(self) -> tuple[float, ...]:
        given = (
            (self.discount,) * 3 if isinstance(self.discount, (int, float)) else tuple(self.discount or ())
        )
        if len(given) != 3:
            raise ValueError(f"discount={self.discount!r}; expected one number or three")
        return given

    def _solve(self) -> Self:
        if not self.counts_.total:
            raise ValueError("no sentences; expected at least one")
        trie = ngram_trie(self.counts_, self.order, self.vocabulary, self.min_count)
        if self.smoothing == "mle":
            self.model_ = maximum_likelihood(trie)
        elif self.smoothing == "add_k":
            self.model_ = add_k(trie, self.k)
        else:
            self.model_ = kneser_ney(trie, None if self.discount is None else self._discounts())
        return self


def count_ngrams(sentences: Sentences, order: int) -> Counts:
    """Count all sequences of up to ``order`` words; sentences are padded with a start and an end symbol.

    Examples
    --------
    >>> counts = count_ngrams(["the cat", "the dog"], 2)
    >>> counts["<s>", "the"], counts["the", "cat"], counts[("the",)]
    (2, 1, 2)
    """
    if isinstance(sentences, str):
        raise TypeError(f"got the text {sentences[:20]!r}; expected a list of sentences")
    counts = Counts()
    for sentence in sentences:
        marked = [BEGIN, *tokens_of(sentence), END]
        counts.update(
            gram for n in range(1, order + 1) for gram in zip(*(marked[i:] for i in range(n)), strict=False)
        )
    return counts
