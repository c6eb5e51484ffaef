"""Networks in XMLBIF 0.3, which JavaBayes, Weka, pgmpy and pyAgrum read and write.

In a ``TABLE`` the states of the variable itself change fastest, then those of the last parent.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterator

import numpy as np

from isogloss.exceptions import NetworkFileError
from isogloss.graphical._cpd import CPD
from isogloss.graphical.formats._reading import Draft, write_text
from isogloss.graphical.network import BayesianNetwork
from isogloss.io import PathLike, XmlReader, open_decompressed

_TEXTS = ("NAME", "OUTCOME", "VALUE", "FOR", "GIVEN", "TABLE")
_BLOCKS = ("NETWORK", "VARIABLE", "DEFINITION", "PROBABILITY")


def read_xmlbif(path: PathLike, *, tolerance: float = 1e-3) -> BayesianNetwork:
    """Read a network from an XMLBIF file, packed or not; parameters and errors are those of :func:`read_bif`.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> write_xmlbif(student(), "student.xml")
    >>> read_xmlbif("student.xml") == student()
    True
    """
    draft = Draft(path, tolerance)
    reader = _Reader(draft)
    with open_decompressed(path, NetworkFileError) as file:
        reader.feed(file.read(), final=True)
    for block in reader.definitions:
        _define(draft, block)
    return draft.network(reader.name)


def write_xmlbif(network: BayesianNetwork, path: PathLike) -> None:
    """Write a network to an XMLBIF file; the file is there whole, or as it was before.

    Numbers are written so that they are read back to the bit.
    """
    write_text(path, "".join(_written(network)))


@dataclasses.dataclass
class _Block:
    """The texts inside one element, in their order."""

    line: int
    texts: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    def all(self, *names: str) -> list[str]:
        return [text for name, text in self.texts if name in names]


class _Reader(XmlReader):
    """Variables join the draft, definitions wait until all variables are known."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(draft.path, "a network in XMLBIF", NetworkFileError)
        self.draft = draft
        self.name = ""
        self.definitions: list[_Block] = []
        self._blocks: list[_Block] = []
        self._parts: list[str] | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin a block or a text."""
        if name in _BLOCKS:
            self._blocks.append(_Block(self.line))
        elif name in _TEXTS:
            self._parts = []

    def text(self, text: str) -> None:
        """Keep what stands inside an element that is known."""
        if self._parts is not None:
            self._parts.append(text)

    def end(self, name: str) -> None:
        """Put a text into its block, and a block where it belongs."""
        if name in _TEXTS and self._parts is not None:
            if not self._blocks:
                raise self.refused(f"{name} outside of NETWORK")
            self._blocks[-1].texts.append((name, "".join(self._parts).strip()))
            self._parts = None
        elif name in _BLOCKS:
            self._close(name, self._blocks.pop())

    def _close(self, name: str, block: _Block) -> None:
        if name == "NETWORK":
            self.name = next(iter(block.all("NAME")), "")
        elif name == "VARIABLE":
            self._variable(block)
        else:
            self.definitions.append(block)

    def _variable(self, block: _Block) -> None:
        names = block.all("NAME")
        if len(names) != 1:
            raise self.draft.error(block.line, f"a variable with {len(names)} names; expected one NAME")
        self.draft.add_variable(block.line, names[0], block.all("OUTCOME", "VALUE"))


def _define(draft: Draft, block: _Block) -> None:
    children, tables = block.all("FOR"), block.all("TABLE")
    if len(children) != 1 or len(tables) != 1:
        message = f"{len(children)} times FOR and {len(tables)} times TABLE; expected one of each"
        raise draft.error(block.line, message)
    child, *parents = draft.family(block.line, [*children, *block.all("GIVEN")])
    shape = (*(parent.card for parent in parents), child.card)
    try:
        numbers = np.array([float(word) for word in tables[0].split()])
    except ValueError as reason:
        raise draft.error(block.line, f"the TABLE of {child.name}: {reason}; expected numbers") from reason
    if numbers.size != np.prod(shape):
        message = f"{numbers.size} probabilities of {child.name}; expected {np.prod(shape)}"
        raise draft.error(block.line, message)
    draft.add_cpd(block.line, child, parents, numbers.reshape(shape))


def _written(network: BayesianNetwork) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n'
    yield f"{_element('NAME', network.name)}\n"
    for variable in network.variables:
        yield f'<VARIABLE TYPE="nature">\n  {_element("NAME", variable.name)}\n'
        yield from (f"  {_element('OUTCOME', state)}\n" for state in variable.states)
        yield "</VARIABLE>\n"
    for cpd in network.cpds:
        yield from _written_cpd(cpd)
    yield "</NETWORK>\n</BIF>\n"


def _written_cpd(cpd: CPD) -> Iterator[str]:
    yield f"<DEFINITION>\n  {_element('FOR', cpd.name)}\n"
    yield from (f"  {_element('GIVEN', parent)}\n" for parent in cpd.parent_names)
    rows = cpd.values.reshape(-1, cpd.variable.card).tolist()
    lines = "\n".join(f"    {' '.join(map(repr, row))}" for row in rows)
    yield f"  <TABLE>\n{lines}\n  </TABLE>\n</DEFINITION>\n"


def _element(tag: str, text: str) -> str:
    if text != text.strip() or any(ord(letter) < 32 for letter in text):
        raise NetworkFileError(
            f"the name {text!r} cannot be written in XMLBIF, which keeps no blanks around a name; rename it"
        )
    return f"<{tag}>{html.escape(text, quote=False)}</{tag}>"
