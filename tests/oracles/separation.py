"""d-separation twice more: by its definition, trail by trail, and in the moral graph of the ancestors."""

import itertools


def trails(graph, x, y):
    """Every trail between two variables that meets no variable twice."""

    def grow(trail):
        if trail[-1] == y:
            yield trail
            return
        for other in (*graph.parents(trail[-1]), *graph.children(trail[-1])):
            if other not in trail:
                yield from grow((*trail, other))

    return grow((x,))


def is_open(graph, trail, given):
    """Whether a trail is open, by the definition."""
    for a, middle, b in zip(trail, trail[1:], trail[2:], strict=False):
        if a in graph.parents(middle) and b in graph.parents(middle):
            if not any(seen == middle or middle in graph.ancestors(seen) for seen in given):
                return False
        elif middle in given:
            return False
    return True


def separated_by_trails(graph, left, right, given):
    """No trail between the two sets is open."""
    return not any(
        is_open(graph, trail, given)
        for x, y in itertools.product(left, right)
        for trail in trails(graph, x, y)
    )


def separated_in_moral_graph(graph, left, right, given):
    """No path avoids ``given`` in the ancestors' graph with parents joined and arrows dropped."""
    kept = {*left, *right, *given}
    kept |= graph.ancestors(kept)
    joined = {name: set() for name in kept}
    for name in kept:
        family = [name, *graph.parents(name)]
        for a, b in itertools.permutations(family, 2):
            joined[a].add(b)
    reached, waiting = set(left), list(left)
    while waiting:
        for other in joined[waiting.pop()] - reached - set(given):
            reached.add(other)
            waiting.append(other)
    return reached.isdisjoint(right)
