"""Networks in the Bayesian Interchange Format, which bnlearn, pgmpy, pyAgrum and JavaBayes read and write.

The format of F. G. Cozman, in the forms that are met: names with and without quotation marks, numbers with
and without commas, parents with and without a bar, ``table``, ``default`` and one line per configuration.
In a ``table`` the states of the parents change fastest. Properties and comments are passed over.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import NetworkFileError
from isogloss.graphical._cpd import CPD
from isogloss.graphical._variables import Variable, listed
from isogloss.graphical.formats._reading import Draft, read_text, write_text
from isogloss.graphical.network import BayesianNetwork
from isogloss.io import PathLike

_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|[\s,]+)|(?P<mark>[{}()\[\];|])"""
    r"""|"(?P<quoted>[^"\n]*)"|(?P<word>[^\s{}()\[\];|,"]+)|(?P<bad>.)""",
    re.DOTALL,
)
_PLAIN = re.compile(r"(?!//|/\*)[^\s{}()\[\];|,\"]+")

_NO_NAME = "unknown"
"""The name that bnlearn gives every network."""


def read_bif(path: PathLike, *, tolerance: float = 1e-3) -> BayesianNetwork:
    """Read a network from a BIF file, packed or not.

    Parameters
    ----------
    path : path
        The file.
    tolerance : float, default=1e-3
        Probabilities that sum to one but for this much, because the file has few digits, are scaled to do
        so; all others are kept to the last digit.

    Raises
    ------
    NetworkFileError
        The file cannot be read; the message names the line.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> write_bif(student(), "student.bif")
    >>> read_bif("student.bif") == student()
    True
    """
    return _Parser(read_text(path), Draft(path, tolerance)).network()


def write_bif(network: BayesianNetwork, path: PathLike) -> None:
    """Write a network to a BIF file; the file is there whole, or as it was before.

    Numbers are written so that they are read back to the bit.
    """
    write_text(path, "".join(_written(network)))


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Parser:
    """Reads one file from its start to its end."""

    def __init__(self, text: str, draft: Draft) -> None:
        self.text = text
        self.draft = draft
        self.name = ""
        self.breaks = [match.start() for match in re.finditer("\n", text)]
        self.tokens = self._tokens()
        self.next = next(self.tokens)

    def network(self) -> BayesianNetwork:
        """The network of the file."""
        blocks = {"network": self._network, "variable": self._variable, "probability": self._probability}
        while self.next.kind != "end":
            token = self._take()
            if token.kind != "word" or token.text not in blocks:
                raise self._error(token, "'network', 'variable' or 'probability'")
            blocks[token.text](token)
        return self.draft.network(self.name)

    def _tokens(self) -> Iterator[_Token]:
        for match in _TOKEN.finditer(self.text):
            kind = match.lastgroup
            if kind == "bad":
                raise self.draft.error(
                    self._line(match.start()), "a quotation mark is not closed in its line"
                )
            if kind is not None and kind != "skip":
                yield _Token(kind, match[kind], match.start())
        while True:
            yield _Token("end", "the end of the file", len(self.text.rstrip()))

    def _line(self, at: int) -> int:
        return bisect_left(self.breaks, at) + 1

    def _error(self, token: _Token, expected: str) -> NetworkFileError:
        return self.draft.error(self._line(token.at), f"{token.text!r:.60}; expected {expected}")

    def _take(self) -> _Token:
        token, self.next = self.next, next(self.tokens)
        return token

    def _mark(self, mark: str) -> None:
        token = self._take()
        if token.kind != "mark" or token.text != mark:
            raise self._error(token, repr(mark))

    def _is(self, text: str, kind: str = "mark") -> bool:
        return self.next.kind == kind and self.next.text == text

    def _name(self, what: str) -> _Token:
        token = self._take()
        if token.kind not in ("word", "quoted"):
            raise self._error(token, what)
        return token

    def _names_until(self, *marks: str, what: str) -> list[str]:
        names = []
        while not (self.next.kind == "mark" and self.next.text in marks):
            names.append(self._name(what).text)
        return names

    def _network(self, _: _Token) -> None:
        if not self._is("{"):
            name = self._name("a name").text
            self.name = "" if name == _NO_NAME else name
        self._mark("{")
        self._properties()
        self._mark("}")

    def _properties(self) -> None:
        """Pass over properties, whatever is in them."""
        while self._is("property", "word"):
            while not self._is(";"):
                token = self._take()
                if token.kind == "end" or (token.kind == "mark" and token.text in "{}"):
                    raise self._error(token, "';' after a property")
            self._mark(";")

    def _variable(self, _: _Token) -> None:
        name = self._name("the name of a variable")
        self._mark("{")
        self._properties()
        for word in ("type", "discrete"):
            token = self._take()
            if token.text != word:
                raise self._error(token, "'type discrete [ number of states ] { states };'")
        states = self._states()
        self._properties()
        self._mark("}")
        self.draft.add_variable(self._line(name.at), name.text, states)

    def _states(self) -> list[str]:
        self._mark("[")
        count = self._take()
        self._mark("]")
        self._mark("{")
        states = self._names_until("}", what="a state or '}'")
        self._mark("}")
        self._mark(";")
        if count.text != str(len(states)):
            raise self._error(count, f"{len(states)}, the number of states that follow")
        return states

    def _probability(self, start: _Token) -> None:
        child, *parents = self._family(start)
        self._mark("{")
        table = _Entries(child, parents)
        while not self._is("}"):
            if self._is("property", "word"):
                self._properties()
            else:
                self._entry(table)
        self._mark("}")
        line = self._line(start.at)
        try:
            values = table.values()
        except ValueError as reason:
            raise self.draft.error(line, reason) from reason
        self.draft.add_cpd(line, child, parents, values)

    def _family(self, start: _Token) -> list[Variable]:
        self._mark("(")
        names = self._names_until("|", ")", what="the name of a variable, '|' or ')'")
        if self._is("|"):
            self._mark("|")
            names += self._names_until(")", what="the name of a parent or ')'")
        self._mark(")")
        if not names:
            raise self._error(start, "the name of a variable in the brackets")
        return self.draft.family(self._line(start.at), names)

    def _entry(self, table: _Entries) -> None:
        token = self._take()
        key: tuple[str, ...] | str = token.text
        if token.kind == "mark" and token.text == "(":
            key = tuple(self._names_until(")", what="a state of a parent or ')'"))
            self._mark(")")
        elif token.text not in ("table", "default"):
            raise self._error(token, "'table', 'default' or the states of the parents in brackets")
        numbers = self._numbers()
        self._mark(";")
        try:
            table.add(key, numbers)
        except ValueError as reason:
            raise self.draft.error(self._line(token.at), reason) from reason

    def _numbers(self) -> list[float]:
        numbers = []
        while not self._is(";"):
            token = self._take()
            try:
                numbers.append(float(token.text))
            except ValueError:
                raise self._error(token, "a number or ';'") from None
        return numbers


class _Entries:
    """The entries of one block of probabilities."""

    def __init__(self, child: Variable, parents: list[Variable]) -> None:
        self.child = child
        self.parents = parents
        self.shape = tuple(parent.card for parent in parents)
        self.rows: dict[tuple[int, ...], list[float]] = {}
        self.whole: dict[str, list[float]] = {}

    def add(self, key: tuple[str, ...] | str, numbers: list[float]) -> None:
        """Take note of ``table``, ``default`` or the numbers of one configuration."""
        wanted = self.child.card * (int(np.prod(self.shape)) if key == "table" else 1)
        if len(numbers) != wanted:
            raise ValueError(f"{len(numbers)} probabilities of {self.child.name}; expected {wanted}")
        codes = None if isinstance(key, str) else self._codes(key)
        if key in self.whole or codes in self.rows:
            states = key if isinstance(key, str) else f"({', '.join(key)})"
            raise ValueError(f"{states} is given twice for {self.child.name}")
        if isinstance(key, str):
            self.whole[key] = numbers
        elif codes is not None:
            self.rows[codes] = numbers

    def _codes(self, states: tuple[str, ...]) -> tuple[int, ...]:
        if len(states) != len(self.parents):
            names = listed([parent.name for parent in self.parents]) or "nothing"
            raise ValueError(f"the states {', '.join(states)}; expected one of each of {names}")
        return tuple(parent.code(state) for parent, state in zip(self.parents, states, strict=True))

    def values(self) -> NDArray[np.float64]:
        """All probabilities, the child's along the last axis."""
        if "table" in self.whole:
            if self.rows or len(self.whole) > 1:
                raise ValueError(f"{self.child.name} has a table and other probabilities; expected one form")
            flat = np.array(self.whole["table"]).reshape(self.child.card, *self.shape)
            return np.moveaxis(flat, 0, -1)
        values = np.empty((*self.shape, self.child.card))
        for codes in np.ndindex(self.shape):
            values[codes] = self._row(codes)
        return values

    def _row(self, codes: tuple[int, ...]) -> list[float]:
        row = self.rows.get(codes, self.whole.get("default"))
        if row is None:
            states = (f"{p.name}={p.states[c]}" for p, c in zip(self.parents, codes, strict=True))
            when = f" for {', '.join(states)}" if codes else ""
            raise ValueError(f"there are no probabilities of {self.child.name}{when}")
        return row


def _written(network: BayesianNetwork) -> Iterator[str]:
    yield f"network {_quoted(network.name or _NO_NAME)} {{\n}}\n"
    for variable in network.variables:
        states = ", ".join(map(_quoted, variable.states))
        yield f"variable {_quoted(variable.name)} {{\n"
        yield f"  type discrete [ {variable.card} ] {{ {states} }};\n}}\n"
    for cpd in network.cpds:
        yield from _written_cpd(cpd)


def _written_cpd(cpd: CPD) -> Iterator[str]:
    bar = " | " if cpd.parents else ""
    yield f"probability ( {_quoted(cpd.name)}{bar}{', '.join(map(_quoted, cpd.parent_names))} ) {{\n"
    rows = cpd.values.reshape(-1, cpd.variable.card).tolist()
    keys = itertools.product(*(parent.states for parent in cpd.parents))
    for key, row in zip(keys, rows, strict=True):
        head = f"({', '.join(map(_quoted, key))})" if cpd.parents else "table"
        yield f"  {head} {', '.join(map(repr, row))};\n"
    yield "}\n"


def _quoted(name: str) -> str:
    if '"' in name or "\n" in name:
        raise NetworkFileError(f"the name {name!r} cannot be written in BIF; rename it, or write XMLBIF")
    return name if _PLAIN.fullmatch(name) else f'"{name}"'
