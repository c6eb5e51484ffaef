"""The command ``isogloss`` with a bug: its worker comes to harm at articles whose title says so.

python -m tests.crash.poisoned serve --store news.db
"""

from dataclasses import dataclass

from isogloss.events.annotate import Annotator
from isogloss.service.worker import StreamFactory
from tests.service.poison import HARMS, WORD


class PoisonedAnnotator(Annotator):
    """Does the harm that is named after the word in a title."""

    def annotate(self, article):
        _, found, rest = article.title.partition(f"{WORD} ")
        if found:
            HARMS[rest.split()[0]]()
        return super().annotate(article)


@dataclass(frozen=True)
class PoisonedFactory(StreamFactory):
    """Creates streams with such an annotator."""

    def __call__(self, saved):
        stream = super().__call__(saved)
        stream.annotator = stream.analyser.annotator = PoisonedAnnotator()
        return stream


def poison(make_factory):
    """Have a function that returns the maker of a stream return one of poisoned streams."""
    return lambda *given: PoisonedFactory(**vars(make_factory(*given)))
