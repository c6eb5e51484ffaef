"""Slow twins of the n-gram estimates, straight from their definitions, over dicts."""

from collections import Counter

BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"


class Text:
    """All n-grams of marked sentences, by length."""

    def __init__(self, sentences, order):
        self.order = order
        self.grams = {n: Counter() for n in range(1, order + 1)}
        for sentence in sentences:
            marked = [BEGIN, *sentence, END]
            for n in range(1, order + 1):
                self.grams[n].update(tuple(marked[i : i + n]) for i in range(len(marked) - n + 1))
        self.vocabulary = sorted({w for (w,) in self.grams[1]} - {BEGIN} | {UNKNOWN})

    def cut(self, context):
        return tuple(context)[-(self.order - 1) :] if self.order > 1 else ()

    def adjusted(self, gram):
        """The count, or for shorter n-grams inside sentences the number of different words before."""
        if len(gram) == self.order or gram[0] == BEGIN:
            return self.grams[len(gram)][gram]
        return sum(longer[1:] == gram for longer in self.grams[len(gram) + 1])

    def maximum_likelihood(self, word, context):
        context = self.cut(context)
        total = sum(c for gram, c in self.grams[len(context) + 1].items() if self.follows(gram, context))
        if not total:
            return self.maximum_likelihood(word, context[1:])
        return self.grams[len(context) + 1][(*context, word)] / total

    def add_k(self, word, context, k):
        context = self.cut(context)
        full = len(context) == self.order - 1 or context[:1] == (BEGIN,)
        assert full, "add-k is defined for whole contexts"
        total = sum(c for gram, c in self.grams[len(context) + 1].items() if self.follows(gram, context))
        return (self.grams[len(context) + 1][(*context, word)] + k) / (total + k * len(self.vocabulary))

    def kneser_ney(self, word, context, discounts):
        """``discounts[n]`` are the three discounts of n-grams of length n."""
        context = self.cut(context)
        n = len(context) + 1
        grams = {g: self.adjusted(g) for g in self.grams[n] if self.follows(g, context)}
        below = self.kneser_ney(word, context[1:], discounts) if context else 1 / len(self.vocabulary)
        total = sum(grams.values())
        if not total:
            return below
        take = {g: discounts[n][min(a, 3) - 1] for g, a in grams.items()}
        gram = (*context, word)
        return (grams.get(gram, 0) - take.get(gram, 0.0) + sum(take.values()) * below) / total

    def follows(self, gram, context):
        return gram[:-1] == context and gram != (BEGIN,)
