"""Small aligned texts with links that are given, not learned."""

from itertools import cycle, islice, product

from isogloss.alignment import Links
from isogloss.lexicon.aligned import AlignedText, read_sides
from isogloss.text import split_words, word_offsets


class Pair:
    """A sentence pair as readers give it."""

    def __init__(self, source, target):
        self.texts = source, target
        self.offsets = tuple(word_offsets(text, split_words(text).split()) for text in self.texts)


def aligned(rows, *rules):
    """Sentence pairs of (source, target, links), links as in ``0-0 1-2``."""
    sides = read_sides([Pair(source, target) for source, target, _ in rows], *rules)
    links = [[tuple(map(int, link.split("-"))) for link in row[2].split()] for row in rows]
    return AlignedText.of(*sides, Links.from_sets(links))


ANIMALS = [
    ("dog", "perro", "perros"),
    ("cat", "gato", "gatos"),
    ("bird", "pajaro", "pajaros"),
    ("fish", "pez", "peces"),
]
VERBS = [("sees", "mira"), ("hears", "escucha"), ("follows", "sigue"), ("fears", "teme")]
TAIL = ["near", "an", "old", "mill", "by", "every", "wide", "river", "when", "it", "rains"]
COLA = ["cerca", "un", "viejo", "molino", "junto", "cada", "ancho", "rio", "cuando", "ello", "llueve"]


def tale(n=96):
    """English and Spanish sentences with their links, about animals that see people near a mill."""
    names = cycle(["Anna", "Boris", "Clara"])
    rows = []
    for (en, es, many), (verb, verbo) in islice(cycle(product(ANIMALS, VERBS)), n):
        name = next(names)
        if len(rows) % 3:
            source, target = f"The {en} {verb} {name}", f"El {es} {verbo} a {name}"
            links = "0-0 1-1 2-2 3-4"
        else:
            source, target = f"The {en}s of {name} give thanks", f"Los {many} de {name} agradecen"
            links = "0-0 1-1 2-2 3-3 4-4 5-4"
        a, b = len(source.split()), len(target.split())
        more = " ".join(f"{a + k}-{b + k}" for k in range(len(TAIL)))
        rows.append((f"{source} {' '.join(TAIL)}.", f"{target} {' '.join(COLA)}.", f"{links} {more}"))
    return rows
