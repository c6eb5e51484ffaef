"""Run another aligner over tokenised files: ``python -m experiments._alignment_peers eflomal FOLDER``.

Reads ``source`` and ``target`` of the folder and writes the links of both directions to ``forward`` and
``backward``, in Pharaoh's format, source first.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

BLOCK = 1000
"""Sentence pairs that are aligned at a time."""


def eflomal(folder: Path) -> None:
    """Both directions of eflomal with its defaults."""
    from eflomal import Aligner

    with (folder / "source").open() as source, (folder / "target").open() as target:
        files = {
            "links_filename_fwd": str(folder / "forward"),
            "links_filename_rev": str(folder / "backward"),
        }
        Aligner().align(source, target, **files)


def fast_align(folder: Path) -> None:
    """Both directions of fast_align, as it is in thot: five iterations of variational Bayes."""
    from thot.alignment import FastAlignModel

    files = [str(folder / side) for side in ("source", "target")]
    for name, (given, made) in (("forward", files), ("backward", files[::-1])):
        model = FastAlignModel()
        model.read_sentence_pairs(given, made)
        model.start_training()
        for _ in range(5):
            model.train()
        model.end_training()
        sides = [[line.split() for line in Path(path).read_text().splitlines()] for path in (given, made)]
        with (folder / name).open("w") as out:
            for row in range(0, len(sides[0]), BLOCK):
                for _, matrix in model.get_best_alignments(*(side[row : row + BLOCK] for side in sides)):
                    links = np.argwhere(matrix.to_numpy()).tolist()
                    pairs = links if name == "forward" else [pair[::-1] for pair in links]
                    out.write(" ".join(f"{i}-{j}" for i, j in pairs) + "\n")


if __name__ == "__main__":
    {"eflomal": eflomal, "fast_align": fast_align}[sys.argv[1]](Path(sys.argv[2]))
