"""Shared parts of network formats: reading and writing text, building a network, errors with line numbers."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import NetworkFileError
from isogloss.graphical._cpd import CPD
from isogloss.graphical._variables import Variable
from isogloss.graphical.network import BayesianNetwork
from isogloss.io import PathLike, atomic_write, open_decompressed

logger = logging.getLogger(__name__)

MAX_CELLS = 1 << 27
"""A table of more numbers than this is refused."""


def read_text(path: PathLike) -> str:
    """The text of a file, packed or not."""
    with open_decompressed(path, NetworkFileError) as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NetworkFileError(f"{os.fspath(path)}:{line}: is not text in UTF-8; convert the file") from error


def write_text(path: PathLike, text: str) -> None:
    """Write a file that is there whole, or as it was before."""
    with atomic_write(path, NetworkFileError) as file:
        file.write(text.encode())


class Draft:
    """The network of a file while it is read.

    Probabilities that sum to one but for the tolerance are scaled to do so.
    """

    def __init__(self, path: PathLike, tolerance: float) -> None:
        self.path = os.fspath(path)
        self.tolerance = tolerance
        self.variables: dict[str, Variable] = {}
        self.cpds: dict[str, CPD] = {}
        self.n_scaled = 0

    def error(self, line: int, message: object) -> NetworkFileError:
        """An error that names the file and the line."""
        return NetworkFileError(f"{self.path}:{line}: {message}")

    def add_variable(self, line: int, name: str, states: Sequence[str]) -> None:
        """Take note of a variable."""
        if name in self.variables:
            raise self.error(line, f"the variable {name} is declared twice")
        try:
            self.variables[name] = Variable(name, states)
        except ValueError as reason:
            raise self.error(line, reason) from reason

    def family(self, line: int, names: Sequence[str]) -> list[Variable]:
        """The variables of these names, whose common table can be held in memory."""
        for name in names:
            if name not in self.variables:
                raise self.error(line, f"there is no variable {name!r}; declare it before its probabilities")
            if names.count(name) > 1:
                raise self.error(line, f"{name} is named twice; each variable of a table may be there once")
        family = [self.variables[name] for name in names]
        if prod(variable.card for variable in family) > MAX_CELLS:
            raise self.error(line, f"a table of {', '.join(names)} has more than {MAX_CELLS:,} numbers")
        return family

    def add_cpd(
        self, line: int, child: Variable, parents: Sequence[Variable], values: NDArray[np.float64]
    ) -> None:
        """Take note of the probabilities of a variable."""
        if child.name in self.cpds:
            raise self.error(line, f"the probabilities of {child.name} are given twice")
        try:
            self.cpds[child.name] = CPD(child, parents, self._scaled(values))
        except ValueError as reason:
            raise self.error(line, reason) from reason

    def _scaled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows that sum to one only nearly, scaled; the others as they are."""
        sums = values.sum(axis=-1, keepdims=True)
        near = (np.abs(sums - 1) > 1e-8) & (np.abs(sums - 1) <= self.tolerance)
        self.n_scaled += int(near.sum())
        return np.where(near, values / np.where(near, sums, 1), values)

    def network(self, name: str) -> BayesianNetwork:
        """The network that was read; the order of the variables is the file's."""
        for variable in self.variables:
            if variable not in self.cpds:
                raise NetworkFileError(f"{self.path}: there are no probabilities of {variable}; add them")
        if self.n_scaled:
            logger.info("%s: %d distributions are scaled to sum to one", self.path, self.n_scaled)
        try:
            return BayesianNetwork([self.cpds[variable] for variable in self.variables], name)
        except ValueError as reason:
            raise NetworkFileError(f"{self.path}: {reason}") from reason
