r"""Follow-ups: an event in which all languages turn to a new name at one time is two events.

When a minister resigns and a successor is elected, nearly every link between the two stories is strong: the
names, the place and the words are the same. What tells them apart is a name that nobody wrote before and
nearly everybody writes afterwards. With the clusters of an event in the order of their mean times, and for a
time and a name the shares :math:`a_l` and :math:`b_l` of the articles of language l that have the name after
and before it, the score of both is

.. math::

    \frac{\sum_l w_l (a_l - b_l)}{\sum_l w_l + 1}, \qquad w_l = \frac{m_l n_l}{m_l + n_l},

where m articles of the language come before the time and n after it. Only languages with articles on both
sides count, because names are found and spelled alike within a language, so a name that appears together with
a script is no evidence. An event is split where the score is highest, if it reaches a minimum, and so are its
parts. The parts are linked, not merged: see :mod:`isogloss.events.story`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from isogloss.events.link import COMPARED_FIELDS, ClusterProfile
from isogloss.kernels import find_new_name

__all__ = ["split_follow_ups"]

_PRIOR = 1.0
"""Added to the weight of the languages: the name must appear in three or more."""
_ENTITIES = COMPARED_FIELDS.index("entities")
_MIN_SHARE = 1 / 64
"""Share of the articles of an event that must have a name."""


def split_follow_ups(
    groups: Iterable[Sequence[int]], profiles: Mapping[int, ClusterProfile], min_score: float
) -> list[list[int]]:
    """Split groups of clusters where a new name appears; the clusters of each group are ascending.

    A minimum score of 1 or more splits nothing.
    """
    if min_score >= 1:
        return [sorted(group) for group in groups]
    out, rest = [], [list(group) for group in groups]
    while rest:
        group = rest.pop()
        ordered = sorted(group, key=lambda one: (profiles[one].mean_time, one))
        place = _follow_up([profiles[one] for one in ordered], min_score)
        if place:
            rest += [ordered[:place], ordered[place:]]
        else:
            out.append(sorted(group))
    return sorted(out)


def _follow_up(ordered: list[ClusterProfile], min_score: float) -> int:
    """Return how many clusters, in the order of time, precede the follow-up; 0 if there is none."""
    articles = np.array([len(one) for one in ordered], dtype=np.float64)
    # w is at most a quarter of the articles of a language.
    min_weight = min_score * _PRIOR / (1 - min_score)
    if len(ordered) < 2 or articles.sum() < 4 * min_weight:
        return 0
    codes = {lang: code for code, lang in enumerate(dict.fromkeys(one.lang for one in ordered))}
    score, place = find_new_name(
        [one.packed for one in ordered],
        articles,
        np.array([one.mean_time for one in ordered]),
        np.array([codes[one.lang] for one in ordered], dtype=np.int32),
        _ENTITIES,
        _PRIOR,
        max(min_weight, _MIN_SHARE * float(articles.sum())),
    )
    return place if score >= min_score else 0
