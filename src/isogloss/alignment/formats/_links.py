"""Files of links: Pharaoh's, with or without probabilities, those of NAACL, and gold with possible links.

==========  ==================================================================================
Pharaoh     a line per sentence pair, ``0-0 1-2``; ``0-0:0.93`` with a probability
gold        the same with ``1p2`` or ``1?2`` for a possible link
NAACL       a line per link, ``sentence source target S`` or ``P``, all counted from one;
            without a letter it is sure, and position 0 is no word
==========  ==================================================================================

Sources and targets are counted from zero unless ``first=1`` says otherwise. Files that are read may be
packed; files that are written replace what was there when they are whole.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.decoding import Links
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, atomic_write, read_lines
from isogloss.kernels import link_lines


def _list_of(link: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?:%b(?:\s+%b)*)?" % (link, link))


_SURE = _list_of(rb"\d{1,6}-\d{1,6}")
_SCORED = _list_of(rb"\d{1,6}-\d{1,6}:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
_GOLD = _list_of(rb"\d{1,6}[-p?]\d{1,6}")
_NAACL = re.compile(rb"(\d{1,9})\s+(\d{1,6})\s+(\d{1,6})(?:\s+([SPsp])(?:\s.*)?)?")
_BETWEEN = re.compile(rb"(?<=\d)-|[:p?]")


@dataclasses.dataclass(frozen=True)
class Gold:
    """Links set by human annotators: ``sure`` links, and ``possible`` ones, which include them.

    Examples
    --------
    >>> gold = Gold.join(sure=Links.from_sets([{(0, 0)}]), possible=Links.from_sets([{(1, 1)}]))
    >>> gold.possible.to_lists()
    [[(0, 0), (1, 1)]]
    """

    sure: Links
    possible: Links

    @classmethod
    def join(cls, sure: Links, possible: Links) -> Gold:
        """Gold in which sure links are possible too."""
        if len(sure) != len(possible):
            raise ValueError(f"sure links of {len(sure)} sentence pairs and possible ones of {len(possible)}")
        both = [np.concatenate([getattr(side, name) for side in (sure, possible)]) for name in _LINK_FIELDS]
        return cls(sure, Links.from_arrays(*both, n=len(sure)))

    def __len__(self) -> int:
        return len(self.sure)


_LINK_FIELDS = ("sentence", "source", "target")


def read_pharaoh(path: PathLike, *, first: int = 0) -> Links:
    r"""Read links of which every line is a sentence pair.

    Whether they have probabilities is seen from the first link; the others must be like it.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("out.align").write_text("0-0 1-2\n\n0-1\n")
    >>> read_pharaoh("out.align").to_lists()
    [[(0, 0), (1, 2)], [], [(0, 1)]]
    """
    lines = list(read_lines(path))
    scored = any(b":" in line for line in lines[:1000])
    table = _table(path, lines, _SCORED if scored else _SURE, 3 if scored else 2)
    return _links(path, table, len(lines), first)


def write_pharaoh(links: Links, path: PathLike, *, first: int = 0, probabilities: bool = False) -> None:
    r"""Write links, a line per sentence pair.

    Examples
    --------
    >>> links = Links([0, 2, 2], [0, 1], [0, 2], [0.75, 0.5])
    >>> write_pharaoh(links, "out.align", probabilities=True)
    >>> open("out.align").read()
    '0-0:0.75 1-2:0.5\n\n'
    """
    if probabilities and links.probability is None:
        raise ValueError("links without probabilities; write them with probabilities=False")
    if probabilities and links.probability is not None:
        columns = (getattr(links, name).tolist() for name in ("source", "target", "probability"))
        scored = zip(*columns, strict=True)
        _write_lines([f"{i + first}-{j + first}:{p:.4g}" for i, j, p in scored], links, path)
        return
    with atomic_write(path) as file:
        file.write(link_lines(links.offsets, links.source, links.target, first).data)


def read_gold(path: PathLike, *, first: int = 0) -> Gold:
    r"""Read sure (``i-j``) and possible (``ipj`` or ``i?j``) links, a line per sentence pair.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("test.gold").write_text("0-0 1p2\n")
    >>> gold = read_gold("test.gold")
    >>> gold.sure.to_lists(), gold.possible.to_lists()
    ([[(0, 0)]], [[(0, 0), (1, 2)]])
    """
    lines = list(read_lines(path))
    table = _table(path, lines, _GOLD, 2)
    marks = np.frombuffer(re.sub(rb"[\d\s]", b"", b"".join(lines)), dtype=np.uint8)
    sure = _links(path, table[marks == ord("-")], len(lines), first)
    return Gold.join(sure, _links(path, table, len(lines), first))


def write_gold(gold: Gold, path: PathLike, *, first: int = 0) -> None:
    """Write sure and possible links, as :func:`read_gold` reads them."""
    marks = ["-" if sure else "p" for sure in _is_sure(gold)]
    links = zip(gold.possible.source.tolist(), marks, gold.possible.target.tolist(), strict=True)
    _write_lines([f"{i + first}{mark}{j + first}" for i, mark, j in links], gold.possible, path)


def read_naacl(path: PathLike, *, n: int | None = None) -> Gold:
    r"""Read links of the shared tasks: ``sentence source target S`` on every line, counted from one.

    Parameters
    ----------
    path : path
        The file.
    n : int, optional
        Number of sentence pairs; by default the last one with a link is the last.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("test.wa").write_text("0001 1 1 S\n0001 2 3 P\n0003 1 1\n")
    >>> gold = read_naacl("test.wa")
    >>> gold.sure.to_lists(), gold.possible.to_lists()
    ([[(0, 0)], [], [(0, 0)]], [[(0, 0), (1, 2)], [], [(0, 0)]])
    """
    rows = np.array(list(_naacl_rows(path)), dtype=np.int64).reshape(-1, 4)
    count = int(rows[:, 0].max(initial=0)) if n is None else n
    if len(rows) and not 1 <= rows[:, 0].min() <= rows[:, 0].max() <= count:
        raise CorpusError(
            f"{os.fspath(path)}: has links of sentences {rows[:, 0].min()} to {rows[:, 0].max()}; expected 1 "
            f"to {count}"
        )
    rows = rows[(rows[:, 1:3] > 0).all(axis=1)]
    sure = rows[rows[:, 3] == 1]
    parts = (Links.from_arrays(*(part[:, :3] - 1).T, n=count) for part in (sure, rows))
    return Gold.join(*parts)


def write_naacl(gold: Gold, path: PathLike) -> None:
    """Write sure and possible links, as :func:`read_naacl` reads them."""
    columns = (getattr(gold.possible, name).tolist() for name in _LINK_FIELDS)
    with atomic_write(path) as file:
        for s, i, j, sure in zip(*columns, _is_sure(gold), strict=True):
            file.write(f"{s + 1:04d} {i + 1} {j + 1} {'S' if sure else 'P'}\n".encode())


def _is_sure(gold: Gold) -> list[bool]:
    sure = {(s, *pair) for s, pairs in enumerate(gold.sure.to_lists()) for pair in pairs}
    return [(s, *pair) in sure for s, pairs in enumerate(gold.possible.to_lists()) for pair in pairs]


def _table(path: PathLike, lines: list[bytes], form: re.Pattern[bytes], width: int) -> NDArray[np.float64]:
    """Sentence pair, source, target and perhaps probability of every link."""
    for number, line in enumerate(lines, 1):
        if not form.fullmatch(line.strip()):
            raise CorpusError(
                f"{os.fspath(path)}:{number}: {line[:60]!r} is not a line of links; expected links like "
                f"{_LIKE[form]} with blanks between them"
            )
    counts = [len(line.split()) for line in lines]
    numbers = _BETWEEN.sub(b" ", b" ".join(lines)).split()
    values = np.array(numbers, dtype=np.float64).reshape(-1, width)
    return np.column_stack([np.repeat(np.arange(len(lines)), counts), values])


_LIKE = {_SURE: "0-0", _SCORED: "0-0:0.93", _GOLD: "0-0 (sure) or 0p0 (possible)"}


def _links(path: PathLike, table: NDArray[np.float64], n: int, first: int) -> Links:
    if table.size and table[:, 1:3].min() < first:
        raise CorpusError(f"{os.fspath(path)}: has a position before {first}, from which words are counted")
    sentence, source, target = table[:, :3].T
    probability = table[:, 3] if table.shape[1] == 4 else None
    return Links.from_arrays(sentence, source - first, target - first, probability, n=n)


def _naacl_rows(path: PathLike) -> Iterator[tuple[int, int, int, int]]:
    for number, line in enumerate(read_lines(path), 1):
        text = line.strip()
        if not text:
            continue
        found = _NAACL.fullmatch(text)
        if found is None:
            raise CorpusError(
                f"{os.fspath(path)}:{number}: {line[:60]!r} is not a link; expected sentence, source, target "
                "and S or P"
            )
        sentence, source, target, mark = found.groups(default=b"S")
        yield int(sentence), int(source), int(target), int(mark in b"Ss")


def _write_lines(words: list[str], links: Links, path: PathLike) -> None:
    ends = links.offsets.tolist()
    with atomic_write(path) as file:
        for a, b in itertools.pairwise(ends):
            file.write(" ".join(words[a:b]).encode() + b"\n")
