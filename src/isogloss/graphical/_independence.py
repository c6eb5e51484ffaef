"""Conditional independence of variables (d-separation), read from the graph alone.

Two variables are separated by observed ones when no trail between them is open. A trail goes through a
variable in the middle of a chain or a fork unless that one is observed, and through a collider, where two
arrows meet, only if it or a descendant of it is observed.

Reference: D. Koller and N. Friedman, Probabilistic Graphical Models, 2009, section 3.3 and algorithm 3.1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import pairwise
from typing import TypeAlias

from isogloss.graphical._structure import Graph

Names: TypeAlias = str | Iterable[str]

_UP, _DOWN = 0, 1
"""Direction from which a trail reaches a variable: from a child, or from a parent."""


def d_separated(graph: Graph, left: Names, right: Names, given: Names = ()) -> bool:
    """Return whether the graph makes two sets of variables independent once others are observed.

    Time is linear in the number of edges.

    Parameters
    ----------
    graph : Structure or BayesianNetwork
        The graph.
    left, right, given : str or iterable of str
        Names of variables; no variable may be in two of them.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> d_separated(student(), "D", ["I", "S"]), d_separated(student(), "D", "I", given="L")
    (True, False)
    """
    sources, targets, observed = _disjoint(graph, left, right, given)
    return not any(node in targets for node, _ in _reach(graph, sources, observed))


def active_trail(graph: Graph, x: str, y: str, given: Names = ()) -> tuple[str, ...] | None:
    """The shortest open trail between two variables, or None when there is none.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> active_trail(student(), "D", "S", given="L")
    ('D', 'G', 'I', 'S')
    >>> active_trail(student(), "D", "S") is None
    True
    """
    sources, (end,), observed = _disjoint(graph, x, y, given)
    came = _reach(graph, sources, observed)
    here = next((state for state in came if state[0] == end), None)
    if here is None:
        return None
    trail = []
    while here is not None:
        trail.append(graph.names[here[0]])
        here = came[here]
    return tuple(reversed(trail))


def explain(graph: Graph, x: str, y: str, given: Names = ()) -> str:
    """Why two variables are, or are not, independent once others are observed, in words.

    Describes an open trail step by step or, if there is none, the shortest trail and where it is blocked.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> print(explain(student(), "D", "S", given="L"))
    D and S may depend on each other given L: the trail D -> G <- I -> S is open.
    - D and I meet in G, whose descendant L is observed: seeing a common effect links its causes.
    - I is a common cause of G and S, and is not observed.
    >>> print(explain(student(), "D", "S"))
    D and S are independent: every trail between them is blocked.
    - The shortest is D -> G <- I -> S.
    - It is blocked at G, where D and I meet: neither G nor a descendant of it is observed.
    """
    observed = _as_names(given)
    trail = active_trail(graph, x, y, observed)
    knowing = f" given {', '.join(observed)}" if observed else ""
    if trail is not None:
        head = f"{x} and {y} may depend on each other{knowing}: the trail {_drawn(graph, trail)} is open."
        steps = (_passes(graph, trail[i - 1 : i + 2], observed) for i in range(1, len(trail) - 1))
        return "\n".join([head, *(f"- {step}" for step in steps)])
    trail = _shortest(graph, x, y)
    if trail is None:
        return f"{x} and {y} are independent{knowing}: no trail joins them."
    triples = (trail[i - 1 : i + 2] for i in range(1, len(trail) - 1))
    reason = next(_blocks(graph, triple) for triple in triples if not _open(graph, triple, observed))
    return (
        f"{x} and {y} are independent{knowing}: every trail between them is blocked.\n"
        f"- The shortest is {_drawn(graph, trail)}.\n- It is blocked at {reason}."
    )


def markov_blanket(graph: Graph, name: str) -> tuple[str, ...]:
    """Parents, children and the children's other parents: given these, nothing else matters.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> markov_blanket(student(), "I")
    ('D', 'G', 'S')
    """
    children = graph.children(name)
    found = {*graph.parents(name), *children, *(p for child in children for p in graph.parents(child))}
    return tuple(other for other in graph.names if other in found - {name})


def _reach(
    graph: Graph, sources: set[int], observed: set[int]
) -> dict[tuple[int, int], tuple[int, int] | None]:
    """Return all variables reached by open trails, each with its direction, by predecessor.

    Observed variables are met too, from which the trail may only turn back.
    """
    parents, children = graph.parent_indices, graph.child_indices
    informed = _with_ancestors(graph, observed)
    came: dict[tuple[int, int], tuple[int, int] | None] = {(node, _UP): None for node in sources}
    queue = deque(came)
    while queue:
        here = node, direction = queue.popleft()
        through = node not in observed
        steps = [(child, _DOWN) for child in children[node]] if through else []
        if (direction == _UP and through) or (direction == _DOWN and node in informed):
            steps += [(parent, _UP) for parent in parents[node]]
        for step in steps:
            if step not in came:
                came[step] = here
                queue.append(step)
    return came


def _with_ancestors(graph: Graph, nodes: set[int]) -> set[int]:
    found, waiting = set(nodes), list(nodes)
    while waiting:
        new = set(graph.parent_indices[waiting.pop()]) - found
        found |= new
        waiting.extend(new)
    return found


def _as_names(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _disjoint(graph: Graph, *several: Names) -> list[set[int]]:
    sets = [{graph.index(name) for name in _as_names(names)} for names in several]
    for at, one in enumerate(sets):
        for other in sets[:at]:
            for node in one & other:
                raise ValueError(f"{graph.names[node]} is named twice; expected three sets without overlap")
    if not sets[0] or not sets[1]:
        raise ValueError("a set is empty; expected variables on both sides")
    return sets


def _shortest(graph: Graph, x: str, y: str) -> tuple[str, ...] | None:
    """The shortest trail, open or not."""
    before: dict[str, str | None] = {x: None}
    queue = deque([x])
    while queue and y not in before:
        here = queue.popleft()
        for other in (*graph.parents(here), *graph.children(here)):
            if other not in before:
                before[other] = here
                queue.append(other)
    if y not in before:
        return None
    trail, step = list[str](), before[y]
    while step is not None:
        trail.append(step)
        step = before[step]
    return (*reversed(trail), y)


def _drawn(graph: Graph, trail: tuple[str, ...]) -> str:
    arrows = [" -> " if a in graph.parents(b) else " <- " for a, b in pairwise(trail)]
    return trail[0] + "".join(arrow + name for arrow, name in zip(arrows, trail[1:], strict=True))


def _is_collider(graph: Graph, triple: tuple[str, ...]) -> bool:
    a, middle, b = triple
    return {a, b} <= set(graph.parents(middle))


def _open(graph: Graph, triple: tuple[str, ...], observed: tuple[str, ...]) -> bool:
    middle = triple[1]
    if _is_collider(graph, triple):
        return not {middle, *graph.descendants(middle)}.isdisjoint(observed)
    return middle not in observed


def _passes(graph: Graph, triple: tuple[str, ...], observed: tuple[str, ...]) -> str:
    """Why an open triple is open."""
    a, middle, b = triple
    if _is_collider(graph, triple):
        below = graph.descendants(middle)
        witness = next((name for name in observed if name in below), "")
        seen = "which is observed" if middle in observed else f"whose descendant {witness} is observed"
        return f"{a} and {b} meet in {middle}, {seen}: seeing a common effect links its causes."
    return f"{_role(graph, triple)}, and is not observed."


def _blocks(graph: Graph, triple: tuple[str, ...]) -> str:
    """Why a blocked triple is blocked."""
    a, middle, b = triple
    if _is_collider(graph, triple):
        return f"{middle}, where {a} and {b} meet: neither {middle} nor a descendant of it is observed"
    return f"{middle}: {_role(graph, triple)}, and is observed"


def _role(graph: Graph, triple: tuple[str, ...]) -> str:
    a, middle, b = triple
    if middle in graph.parents(a) and middle in graph.parents(b):
        return f"{middle} is a common cause of {a} and {b}"
    first, last = (a, b) if a in graph.parents(middle) else (b, a)
    return f"{middle} passes on what {first} does to {last}"
