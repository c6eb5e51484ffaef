r"""IBM Model 1 of one sentence pair, as a graph.

For each word :math:`f_j` of the target sentence there is a hidden position :math:`A_j`, uniform over the
words of the source sentence and NULL, with an arrow to the word:
:math:`p(f_j, a_j \mid e) = \frac{1}{l + 1}\, t(f_j \mid e_{a_j})`. The pairs of variables are
independent of each other, which is why the posterior of an alignment is a product of posteriors of links (the
plate over j of the usual picture).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from isogloss.graphical._cpd import CPD
from isogloss.graphical._variables import Variable
from isogloss.graphical.network import BayesianNetwork

OTHER_WORDS = "<other>"
"""The state that stands for every word which is not in the target sentence."""


def lexical_network(
    source: Sequence[str],
    target: Sequence[str],
    lexicon: Mapping[str, Mapping[str, float]],
    *,
    null: str | None = "NULL",
) -> BayesianNetwork:
    """The graph of IBM Model 1 for a sentence pair.

    Parameters
    ----------
    source, target : sequence of str
        Words; the target is generated from the source.
    lexicon : mapping
        ``lexicon[e][f]`` is the probability that ``f`` is the translation of ``e``; pairs that are not there
        have probability zero.
    null : str or None
        The word in ``lexicon`` that explains words without a counterpart; None for a model without it.

    Returns
    -------
    BayesianNetwork
        Variables A1, F1, A2, F2, ... The states of the positions are such as ``"2 maison"``, and ``"0 NULL"``
        the first; those of the words are the different words of the target and ``"<other>"``.

    Examples
    --------
    >>> lexicon = {"la": {"the": 0.7, "house": 0.05}, "maison": {"the": 0.1, "house": 0.8}}
    >>> graph = lexical_network(["la", "maison"], ["the", "house"], lexicon, null=None)
    >>> graph.factorisation()
    'P(A1, F1, A2, F2) = P(A1) P(F1 | A1) P(A2) P(F2 | A2)'
    >>> print(graph.cpd("F2").table)
    A2        the     house   <other>
    1 la      0.7000  0.0500  0.2500
    2 maison  0.1000  0.8000  0.1000
    """
    if not source or not target or isinstance(source, str) or isinstance(target, str):
        raise ValueError("a sentence without words, or text; expected two lists of words")
    explaining = list(source) if null is None else [null, *source]
    positions = [f"{i} {word}" for i, word in enumerate(explaining, 1 if null is None else 0)]
    words = list(dict.fromkeys(target))
    rows = [_translations(word, lexicon.get(word, {}), words) for word in explaining]
    cpds: list[CPD] = []
    for j in range(1, len(target) + 1):
        place = Variable(f"A{j}", positions)
        cpds.append(CPD(place, [], np.full(len(positions), 1 / len(positions))))
        cpds.append(CPD(Variable(f"F{j}", [*words, OTHER_WORDS]), [place], rows))
    return BayesianNetwork(cpds, name="IBM Model 1")


def _translations(word: str, row: Mapping[str, float], words: Sequence[str]) -> list[float]:
    known = [float(row.get(target, 0.0)) for target in words]
    rest = 1.0 - sum(known)
    if min(known) < 0 or rest < -1e-6:
        raise ValueError(
            f"the translations of {word!r} sum to {sum(known):.6g}; expected probabilities up to 1"
        )
    scale = 1.0 if rest >= 0 else 1.0 / sum(known)
    return [*(p * scale for p in known), max(rest, 0.0)]
