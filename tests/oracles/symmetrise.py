"""Slow twins of the symmetrisation rules: one sentence pair at a time, sets and loops."""

from collections import defaultdict

BESIDE = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def symmetrise(forward, backward, method):
    """Join two sets of (source, target) by a rule."""
    if method == "union":
        return forward | backward
    state = Grown(forward & backward)
    if method != "intersection":
        grow(state, forward | backward)
    if method in ("grow-diag-final", "grow-diag-final-and"):
        for side in (forward, backward):
            finish(state, side, both=method.endswith("and"))
    return state.links


class Grown:
    """Links so far, and how many of them each word has."""

    def __init__(self, links):
        self.links, self.of_source, self.of_target = set(), defaultdict(int), defaultdict(int)
        for link in links:
            self.add(link)

    def add(self, link):
        self.links.add(link)
        self.of_source[link[0]] += 1
        self.of_target[link[1]] += 1

    def bare_words(self, link):
        return (not self.of_source[link[0]]) + (not self.of_target[link[1]])


def by_target(links):
    return sorted(links, key=lambda link: (link[1], link[0]))


def grow(state, union):
    """Scan links by target, then source; what is added beyond the one at hand is scanned in the same pass."""
    before = None
    while before != len(state.links):
        before = len(state.links)
        for source, target in by_target(union):
            if (source, target) in state.links:
                for down, right in BESIDE:
                    link = source + right, target + down
                    if link in union and state.bare_words(link):
                        state.add(link)


def finish(state, side, both):
    for link in by_target(side):
        if state.bare_words(link) >= (2 if both else 1):
            state.add(link)
