r"""The similarity of two articles: a calibrated probability that they tell the same story.

With :math:`x_k` the similarities by channel and fixed weights :math:`w_k`,

.. math:: \log \frac{P(\text{same story})}{P(\text{two stories})} = b + a \sum_{k \text{ known}} w_k x_k.

The weights are round numbers that were not fitted. The slope :math:`a` and the constant :math:`b` were fitted
to pairs of press items, news blurbs and sample news (``experiments/event_similarity.py``), once for pairs
with embeddings, once for pairs with points of a similarity model instead, and once for pairs with neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Literal, NamedTuple

from scipy.special import expit

from isogloss.events.annotate import Annotator
from isogloss.events.article import MAX_TITLE_CHARS, Article
from isogloss.events.comparison._channels import NO_TIME, ComparedArticle, compare_channels, represent
from isogloss.similarity import Encoder, TextModel, installed_encoder
from isogloss.text import language


class Calibration(NamedTuple):
    """Weight of a channel of meaning, and the line from the weighted sum to the log odds."""

    weight: float
    slope: float
    constant: float


WEIGHTS = {"textCosSim": 0.5, "keywordCosSim": 0.5, "entityCosSim": 0.25}
"""Weights of the channels that need neither an encoder nor a model."""

CALIBRATIONS = {
    "encoderCosSim": Calibration(1.0, 7.00, -4.28),
    "latentCosSim": Calibration(0.5, 6.87, -2.25),
    "": Calibration(0.0, 10.81, -1.89),
}
"""Channels of meaning, the best first; the last is for pairs without any."""


class ArticleComparison(NamedTuple):
    """The similarity of two articles, with the evidence."""

    probability: float
    """The probability that they tell the same story."""
    channels: Mapping[str, float]
    """Their similarities by each kind of evidence, see :data:`~isogloss.events.comparison.CHANNELS`; NaN
    where there is none.
    """
    contributions: Mapping[str, float]
    """Contribution of each channel to the log odds; ``(constant)`` is the constant."""


class ArticleSimilarity:
    """Compares two articles in the same language or in two, and explains the result.

    The result does not depend on other articles, nor on when the two were published: it is about their texts.
    To follow a stream, use :class:`~isogloss.events.EventStream`.

    Parameters
    ----------
    encoder : Encoder, None or 'auto'
        Sentence encoder; by default the installed one, if there is one
        (:func:`isogloss.similarity.open_encoder`).
    annotator : Annotator, optional
        Finds names, places, dates and keywords; give one with a concept dictionary if you have it.
    model : TextModel, optional
        Similarity model; articles in its languages are compared in its space as well.

    Notes
    -----
    Half of the pairs that the probability was calibrated with tell the same story. Of all pairs of articles
    of a day, few do, and then the probability overstates. Words of texts in English, German, Spanish, French
    and Russian are weighted by how rare they are in the sample news and the sample corpus; in other languages
    all words count alike.

    Examples
    --------
    >>> similarity = ArticleSimilarity(encoder=None)
    >>> one = similarity.article("Earthquake in Peru: 12 people were killed in Arequipa", "en")
    >>> two = similarity.article("Erdbeben in Peru: In Arequipa starben 12 Menschen", "de")
    >>> three = similarity.article("Die Bank senkt die Zinsen", "de")
    >>> similarity.compare(one, two).probability > 0.9, similarity.compare(one, three).probability < 0.2
    (True, True)
    >>> similarity.compare(one, two).channels["sharedNumbers"]
    1.0
    """

    def __init__(
        self,
        *,
        encoder: Encoder | Literal["auto"] | None = "auto",
        annotator: Annotator | None = None,
        model: TextModel | None = None,
    ) -> None:
        self.encoder = installed_encoder() if encoder == "auto" else encoder
        self.annotator = annotator or Annotator()
        self.model = model

    @staticmethod
    def article(text: str, lang: str) -> Article:
        """Return a text as an article; its first line, if it is short, is the title."""
        stripped = text.strip()
        title, _, body = stripped.partition("\n")
        if len(title) > MAX_TITLE_CHARS:
            title, body = "", stripped
        return Article("", language(lang).code, title, body, NO_TIME)

    def represent(self, article: Article) -> ComparedArticle:
        """Analyse an article once, to compare it with several others."""
        return represent(article, self.annotator, self.encoder, self.model)

    def compare(self, one: Article | ComparedArticle, other: Article | ComparedArticle) -> ArticleComparison:
        """Compare two articles; in either order the result is the same.

        Parameters
        ----------
        one, other : Article or ComparedArticle
            The articles, or what :meth:`represent` returned for them.
        """
        found = compare_channels(self._represented(one), self._represented(other))
        best = next((name for name in CALIBRATIONS if name and not isnan(found[name])), "")
        calibration = CALIBRATIONS[best]
        weights = WEIGHTS | ({best: calibration.weight} if best else {})
        contributions = {
            name: calibration.slope * weight * found[name]
            for name, weight in weights.items()
            if not isnan(found[name])
        }
        contributions["(constant)"] = calibration.constant
        return ArticleComparison(float(expit(sum(contributions.values()))), found, contributions)

    def _represented(self, given: Article | ComparedArticle) -> ComparedArticle:
        return given if isinstance(given, ComparedArticle) else self.represent(given)
