"""Every regular expression of the package takes time in proportion to its input, whatever the input is.

Each pattern searches hostile texts of n and of 4n characters. CPU time is measured, so other work on the
machine does not count; four times the text may take at most eight times as long.
"""

import ast
import importlib
import pkgutil
import re
import time
from pathlib import Path

import pytest

import isogloss

SRC = Path(isogloss.__file__).parent
LENGTH = 1_500
NOISE = 0.004
"""CPU seconds that a search may always take."""
CHECKED_BEFORE = {
    "isogloss.corpora.readers._sqldump._VALUES": "reads rows that the pattern of a row has matched",
}
CALLS = {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
PIECES = [
    " ", "\t", "\n", " \n", "\u3000", "a", "A", "é", "0", "1.", "1,", "-", " -", "- ", "a-", "a ", "A.",
    "'", '"', "|", " |", "(", "()", "((", "[", "[[", "[[a|", "{{", "{", "<", "<a ", "<a", "<!", "<!--",
    "<![CDATA[", "<ref ", "</", "&", "&#", "&#1", "&#x", "&a", "=", "a=", "a='", "\\", "\\'", "',", "('",
    "/", "//", "/*", "http://", "@", "#", "_", "__A", ".", "..", "!", "1-", "1:", "1 1 ", "2020-", "年",
    "月", "。", "ア", "\u0300", "\u200e", ",", ";", "isogloss.",
]  # fmt: skip


def literals():
    """Patterns that stand in the sources as they are."""
    for path in SRC.rglob("*.py"):
        if not re.search(r"\bre\.\w+\(", text := path.read_text()):
            continue
        for node in ast.walk(ast.parse(text)):
            function = node.func if isinstance(node, ast.Call) else None
            if (
                isinstance(function, ast.Attribute)
                and isinstance(function.value, ast.Name)
                and function.value.id == "re"
                and function.attr in CALLS
                and isinstance(node.args[0], ast.Constant)
            ):
                yield f"{path.relative_to(SRC)}:{node.lineno}", re.compile(node.args[0].value)


def compiled():
    """Patterns that modules and classes hold, however they were put together."""
    for found in pkgutil.walk_packages(isogloss.__path__, "isogloss."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        holders = [module, *(each for each in vars(module).values() if isinstance(each, type))]
        for holder in holders:
            for name, value in vars(holder).items():
                if isinstance(value, re.Pattern):
                    yield f"{found.name}.{name}", value


def patterns():
    by_pattern = {}
    for name, pattern in [*compiled(), *literals()]:
        if name not in CHECKED_BEFORE:
            by_pattern.setdefault(pattern, name)
    return [pytest.param(pattern, id=name) for pattern, name in by_pattern.items()]


def cpu_seconds(pattern, text):
    """CPU time of what the sources do with patterns: look everywhere, and match once from the start."""
    began = time.thread_time()
    for _ in pattern.finditer(text):
        pass
    pattern.fullmatch(text)
    return time.thread_time() - began


def is_linear(pattern, piece):
    for end in ("", "\x00"):
        short, long = (piece * (length // len(piece)) + end for length in (LENGTH, 4 * LENGTH))
        if isinstance(pattern.pattern, bytes):
            short, long = short.encode(), long.encode()
        # Noise only ever adds, so one quick search of the long text is enough.
        for _ in range(4):
            slow = cpu_seconds(pattern, long)
            if slow <= NOISE or slow <= 8 * min(cpu_seconds(pattern, short) for _ in range(3)):
                break
        else:
            return False
    return True


def test_a_quadratic_pattern_is_found_out():
    assert not is_linear(re.compile(r"\s+-\s+|\s*\|\s*"), " ")
    assert is_linear(re.compile(r"\s"), " ")


@pytest.mark.parametrize("pattern", patterns())
def test_patterns_take_time_in_proportion_to_the_text(pattern):
    assert [piece for piece in PIECES if not is_linear(pattern, piece)] == []
