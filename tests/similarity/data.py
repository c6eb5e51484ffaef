"""Small comparable corpora whose languages share no word."""

from functools import cache

import numpy as np

from isogloss.corpora import InMemoryCorpus
from isogloss.text import Tokeniser

CODES = ("en", "de", "fr", "sl")


def comparable_texts(n=240, topics=12, words=8, length=14, languages=CODES, missing=0.0, seed=0):
    """Documents about two topics each; word w of topic t is ``de4w2`` in German, and so on."""
    made = _comparable_texts(n, topics, words, length, tuple(languages), missing, seed)
    return {language: list(column) for language, column in made.items()}


@cache
def _comparable_texts(n, topics, words, length, languages, missing, seed):
    rng = np.random.default_rng(seed)
    about = np.array([rng.choice(topics, 2, replace=False) for _ in range(n)])
    texts = {}
    for language in languages:
        column = []
        for pair in about:
            chosen = [f"{language}{rng.choice(pair)}w{rng.integers(words)}" for _ in range(length)]
            noise = [f"{language}x{rng.integers(3 * words)}" for _ in range(length // 4)]
            absent = language != languages[0] and rng.random() < missing
            column.append(None if absent else " ".join(chosen + noise))
        texts[language] = column
    return texts


def as_corpus(texts):
    return InMemoryCorpus(texts, {language: Tokeniser(language) for language in texts})


def comparable_corpus(**changes):
    return as_corpus(comparable_texts(**changes))


def without_common_rows(texts, a, b):
    """The same texts, with no row that has both of two languages."""
    n = len(texts[a])
    cut = {a: [t if i % 2 else None for i, t in enumerate(texts[a])]}
    cut[b] = [None if i % 2 else t for i, t in enumerate(texts[b])]
    return {name: cut.get(name, texts[name]) for name in texts} if n else texts
