"""Slow twins of how plain parallel text is read: a line, a pair and a word at a time."""

from __future__ import annotations

import itertools


class BadFileError(Exception):
    """What a reader has to refuse, in its words."""


def lines_of(data, name, limit):
    """Lines of a file, given as bytes."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        if len(line) >= limit:
            raise BadFileError(f"{name}:{number}: the line is longer")
        line = line.rstrip(b"\r")
        yield line[3:] if number == 1 and line[:3] == b"\xef\xbb\xbf" else line


def raw_lines(left, right, limit, names=("left", "right")):
    """Pairs of two files."""
    total = [data.count(b"\n") + (data[-1:] not in (b"", b"\n")) for data in (left, right)]
    sides = (lines_of(data, name, limit) for data, name in zip((left, right), names, strict=True))
    for number, (a, b) in enumerate(itertools.zip_longest(*sides), 1):
        if a is None or b is None:
            for _ in itertools.chain(*sides):
                pass
            raise BadFileError(f"{names[0]} has {total[0]} lines and {names[1]} has {total[1]}")
        yield number, a, b


def raw_columns(data, i, j, limit):
    """Pairs of two columns."""
    for number, line in enumerate(lines_of(data, "file", limit), 1):
        columns = line.split(b"\t")
        yield number, *(columns[k] if k < len(columns) else None for k in (i, j))


def raw_bars(data, limit):
    """Pairs with bars between them."""
    for number, line in enumerate(lines_of(data, "file", limit), 1):
        parts = line.split(b"|||")
        yield (number, *parts) if len(parts) == 2 else (number, None, None)


def problem_of(source, target, most):
    """What is wrong with a pair: a kind, and some words of the sentence that says it; None if nothing is."""
    for side, text in (("source", source), ("target", target)):
        if text is None:
            return "incomplete", ""
        words = text.split()
        try:
            b" ".join(words).decode()
        except UnicodeDecodeError:
            return "not UTF-8", f"the {side} side is not UTF-8"
        if not words:
            return "empty", f"the {side} side is empty"
        if len(words) > most:
            return "too long", f"the {side} side has {len(words)} tokens, the limit is {most}"
    return None


def sentences(raw, most, strict):
    """All pairs as lists of words, how often each problem occurs, and what is refused, if anything is."""
    pairs, problems, refused = [], [], None
    try:
        for number, source, target in raw:
            problem = problem_of(source, target, most)
            if problem is not None and strict:
                refused = f":{number}: {problem[1]}"
                break
            if problem is None:
                pairs.append(tuple([word.decode() for word in text.split()] for text in (source, target)))
            else:
                pairs.append(([], []))
                problems.append((number, *problem))
    except BadFileError as error:
        refused = str(error)
    return pairs, problems, refused
