"""Streams that something unforeseen happens to at articles with a certain word, as it would at a bug."""

import os
import signal
from dataclasses import dataclass

from isogloss.events.annotate import Annotator
from isogloss.service.worker import StreamFactory

WORD = "Belladonna"


class PoisonedAnnotator(Annotator):
    """Does harm at articles with the word in their title."""

    def __init__(self, harm):
        super().__init__(gazetteer=None)
        self.harm = harm

    def annotate(self, article):
        if WORD in article.title:
            HARMS[self.harm]()
        return super().annotate(article)


@dataclass(frozen=True)
class PoisonedFactory(StreamFactory):
    """Makes streams with such an annotator; with no harm, those of a program whose bug is mended."""

    harm: str = ""

    def __call__(self, saved):
        stream = super().__call__(saved)
        stream.annotator = stream.analyser.annotator = PoisonedAnnotator(self.harm)
        return stream


class StartedFactory(PoisonedFactory):
    """Makes streams whose analyser has been started."""

    def __call__(self, saved):
        stream = super().__call__(saved)
        stream.analyser.start()
        return stream


def _hang():
    while True:
        pass


def _allocate():
    hoard = []
    while True:
        hoard.append(b"x" * (1 << 24))


def _raise():
    raise ZeroDivisionError("what nobody thought of")


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


HARMS = {"": lambda: None, "hang": _hang, "allocate": _allocate, "raise": _raise, "die": _die}
