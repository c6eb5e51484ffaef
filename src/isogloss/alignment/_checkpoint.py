"""Going on after an interruption: where training stood, and on what.

A checkpoint is a model file with the parameters of the last finished iteration and a digest of the text and
of the settings, so that training cannot go on with others.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time

from isogloss import io
from isogloss.alignment._bitext import Bitext
from isogloss.alignment.aligner import Aligner
from isogloss.alignment.models import Progress
from isogloss.exceptions import CorpusError

_FREE = ("threshold", "n_jobs", "engine", "batch_pairs", "keep_index")
"""Settings that do not change what is learned."""


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The progress of training and the digest of its inputs."""

    progress: Progress
    digest: str


class Checkpoints:
    """Writes the last iteration to a file from time to time, and reads it back.

    Parameters
    ----------
    path : path
        The file.
    aligner, bitext
        What is trained, on what; iterations of anything else are refused.
    seconds : float
        Iterations that end sooner after the last write are only remembered, and written by ``flush``.

    Examples
    --------
    >>> import os
    >>> from isogloss.alignment import Aligner, Bitext
    >>> text = Bitext.from_pairs([("the house", "la maison"), ("the", "la")])
    >>> checkpoints = Checkpoints("run.checkpoint", Aligner(), text)
    >>> _ = Aligner().fit(text, on_iteration=lambda progress, line: checkpoints.keep(progress))
    >>> checkpoints.flush()
    >>> checkpoints.load().stage
    1
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        aligner: Aligner,
        bitext: Bitext,
        *,
        seconds: float = 2.0,
    ) -> None:
        self.path = os.fspath(path)
        self.seconds = seconds
        self._digest = _digest(aligner, bitext)
        self._last: Progress | None = None
        self._written = time.monotonic()

    def keep(self, progress: Progress) -> None:
        """Remember an iteration, and write it when the last write was long enough ago."""
        self._last = progress
        if time.monotonic() - self._written >= self.seconds:
            self.flush()

    def flush(self) -> None:
        """Write what was remembered."""
        if self._last is not None:
            io.save(Checkpoint(self._last, self._digest), self.path)
            self._last, self._written = None, time.monotonic()

    def load(self) -> Progress | None:
        """The iteration in the file, or None when there is no file."""
        if not os.path.exists(self.path):
            return None
        found = io.load(self.path, expected=Checkpoint)
        if found.digest != self._digest:
            raise CorpusError(
                f"{self.path}: was made with other text or settings; continue with the same, or start over "
                "without --resume"
            )
        return found.progress

    def remove(self) -> None:
        """Delete the file, when there is one."""
        if os.path.exists(self.path):
            os.unlink(self.path)


def _digest(aligner: Aligner, bitext: Bitext) -> str:
    """A digest of the text and of the settings that matter; the text is looked at piece by piece."""
    digest = hashlib.blake2b(digest_size=16)
    settings = {k: v for k, v in aligner.get_params(deep=False).items() if k not in _FREE}
    digest.update(json.dumps(settings, sort_keys=True, default=dataclasses.asdict).encode())
    for words in bitext.words:
        digest.update("\n".join(words).encode("utf-8", "surrogatepass"))
    for rows in bitext.blocks():
        for side in (bitext.source[rows], bitext.target[rows]):
            digest.update(side.words.tobytes())
            digest.update(side.offsets.tobytes())
    return digest.hexdigest()
