"""Documents to align from files and folders, and aligned sentences to files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from isogloss.alignment.sentences._beads import SentenceAlignment
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, atomic_write, read_text
from isogloss.text.raw import Layout, SplitText, mixed_scripts, split_text

Form = Literal["tsv", "tmx", "lines"]

SCRIPT_LETTERS = 1 << 20
"""Characters at the start of a text in which scripts are counted."""


@dataclass(frozen=True)
class ReadText:
    """A text file, split into sentences.

    Parameters
    ----------
    path : str
        The file.
    text : SplitText
        Its sentences.
    encoding : str
        The encoding it was read in.
    scripts : dict of str to int
        Letters per script, if the text is in more than one.
    """

    path: str
    text: SplitText
    encoding: str
    scripts: dict[str, int]

    @classmethod
    def of(
        cls, path: PathLike, lang: str = "", *, encoding: str | None = None, layout: Layout = "auto"
    ) -> ReadText:
        """Read a file; see :func:`~isogloss.io.read_text` and :func:`~isogloss.text.raw.split_text`.

        Examples
        --------
        >>> from pathlib import Path
        >>> _ = Path("en.txt").write_text("He came. She left.")
        >>> ReadText.of("en.txt", "en").text.sentences
        ('He came.', 'She left.')
        """
        decoded = read_text(path, encoding)
        return cls(
            os.fspath(path),
            split_text(decoded.text, lang, layout=layout),
            decoded.encoding,
            mixed_scripts(decoded.text[:SCRIPT_LETTERS]),
        )


def match_files(source: PathLike, target: PathLike) -> tuple[list[tuple[Path, Path]], list[Path]]:
    """Pair two files, or the files of two folders by their names.

    Endings do not count: those that all files of a folder share, such as ``.en.txt``, or else all that
    follows the first full stop. Returns the pairs, in the order of their names, and the files that have no
    partner. Hidden files are left out.
    """
    sides = Path(source), Path(target)
    if not any(side.is_dir() for side in sides):
        return [(sides[0], sides[1])], []
    if not all(side.is_dir() for side in sides):
        file, folder = sorted(sides, key=Path.is_dir)
        raise CorpusError(f"{file} is a file and {folder} a folder; expected two files or two folders")
    ways = [[_keyed(side, shared=shared) for side in sides] for shared in (True, False)]
    left, right = max(ways, key=lambda way: len(way[0].keys() & way[1].keys()))
    pairs = [(left[name], right[name]) for name in sorted(left.keys() & right.keys())]
    if not pairs:
        raise CorpusError(
            f"{source} and {target} have no files of the same name; expected pairs such as story.en.txt and "
            "story.fr.txt"
        )
    paired = {file for pair in pairs for file in pair}
    return pairs, [file for side in sides for file in _files_in(side) if file not in paired]


def _files_in(folder: Path) -> list[Path]:
    """The files in a folder and its folders, in the order of their names."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(p for p in found if not any(part.startswith(".") for part in p.relative_to(folder).parts))


def _keyed(folder: Path, *, shared: bool) -> dict[str, Path]:
    """Files by their path in the folder, without the ending that they share or what follows a full stop.

    Of several files with the same key none is kept.
    """
    files = _files_in(folder)
    names = [file.relative_to(folder).as_posix().removesuffix(".gz").removesuffix(".xz") for file in files]
    if shared:
        n_shared = len(_shared_ending([name.split(".") for name in names]))
        keys = [".".join(name.split(".")[: -n_shared or None]) for name in names]
    else:
        keys = [name[: name.find(".", max(name.rfind("/"), 0)) % (len(name) + 1)] for name in names]
    counts = Counter(keys)
    return {key: file for key, file in zip(keys, files, strict=True) if counts[key] == 1}


def _shared_ending(names: Sequence[Sequence[str]]) -> list[str]:
    """The last parts that all names have in common, which leave at least one part."""
    ending: list[str] = []
    for parts in zip(*(name[:0:-1] for name in names), strict=False):
        if len(set(parts)) > 1:
            break
        ending.append(parts[0])
    return ending


def write_beads(
    alignments: Sequence[SentenceAlignment],
    path: PathLike,
    form: Form = "tsv",
    *,
    languages: tuple[str, str] = ("", ""),
    min_probability: float = 0.0,
    unaligned: bool = False,
) -> list[Path]:
    """Write aligned sentences; return the files that were written.

    Parameters
    ----------
    alignments : sequence of SentenceAlignment
        Documents, in order.
    path : path
        The file.
    form : {'tsv', 'tmx', 'lines'}
        A line per bead with the source, the target and the probability, between tabs; a translation memory;
        or two files of lines, whose names end in the languages, or else in ``source`` and ``target``.
    languages : pair of str
        Codes; needed for a translation memory.
    min_probability : float
        Leave out beads that are less probable.
    unaligned : bool
        Also write sentences without a partner, to ``tsv`` and ``lines``.
    """
    rows = [
        (" ".join(source.split()), " ".join(target.split()), probability)
        for alignment in alignments
        for source, target, probability in alignment.texts()
        if probability >= min_probability and ((source and target) or (unaligned and form != "tmx"))
    ]
    if form == "lines":
        endings = [code or side for code, side in zip(languages, ("source", "target"), strict=True)]
        if endings[0] == endings[1]:
            endings = ["source", "target"]
        paths = [Path(f"{os.fspath(path)}.{ending}") for ending in endings]
        for side, one in enumerate(paths):
            _write(one, (f"{row[side]}\n" for row in rows))
        return paths
    if form == "tmx":
        _write(Path(path), _tmx(rows, languages))
    else:
        _write(Path(path), (f"{source}\t{target}\t{p:.4f}\n" for source, target, p in rows))
    return [Path(path)]


def _write(path: Path, lines: Iterator[str]) -> None:
    with atomic_write(path) as file:
        file.writelines(line.encode("utf-8", "replace") for line in lines)


def _tmx(rows: Sequence[tuple[str, str, float]], languages: tuple[str, str]) -> Iterator[str]:
    if not all(languages):
        raise ValueError("a translation memory needs the codes of both languages, for example en and cs")
    source, target = map(quoteattr, languages)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
    yield (
        f'<header creationtool="isogloss" creationtoolversion="1" segtype="sentence" o-tmf="isogloss" '
        f'adminlang="en" srclang={source} datatype="plaintext"/>\n<body>\n'
    )
    for left, right, probability in rows:
        yield f'<tu><prop type="probability">{probability:.4f}</prop>'
        for code, text in ((source, left), (target, right)):
            yield f"<tuv xml:lang={code}><seg>{escape(_xml_text(text))}</seg></tuv>"
        yield "</tu>\n"
    yield "</body>\n</tmx>\n"


def _xml_text(text: str) -> str:
    """Text without characters that XML does not allow."""
    return "".join(
        c
        for c in text
        if c in "\t" or (c >= " " and c not in "\ufffe\uffff" and not "\ud800" <= c <= "\udfff")
    )
