"""Slow twins of how text is read: a line, a pair and a word at a time; and of fingerprints of texts."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import numpy as np


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
    sides = [lines_of(data, name, limit) for data, name in zip((left, right), names, strict=True)]
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


def find_words(text, is_letter):
    """The stretches of letters of a text."""
    known = "".join(re.escape(c) for c in set(text) if ord(c) < len(is_letter) and is_letter[ord(c)])
    return re.findall(f"[{known}]+", text) if known else []


def word_codes(letters, kinds, numbers, step):
    """A number for each word: the sum over its letters, each mixed with the one before it in the word."""
    kind, number = kinds[letters], numbers[letters]
    before = np.zeros_like(kind)
    before[1:] = kind[:-1]
    starts = np.flatnonzero((kind == 2) | ((kind == 1) & (before != 1)))
    number[1:] += number[:-1] * step * (before[1:] == 1)
    number[kind == 0] = 0
    number ^= number >> np.uint64(29)
    return np.add.reduceat(number, starts) if len(starts) else starts.astype(np.uint64)


def min_hashes(letters, kinds, numbers, steps, factors):
    """The upper half of the least number that each factor gives a sequence of three words."""
    words = word_codes(letters, kinds, numbers, steps[2])
    if not len(words):
        return np.empty(0, np.uint32)
    sequences = words if len(words) < 3 else words[:-2] * steps[0] + words[1:-1] * steps[1] + words[2:]
    sequences ^= sequences >> np.uint64(31)
    return ((factors[:, None] * sequences).min(axis=1) >> np.uint64(32)).astype(np.uint32)


def find_copy(signature, time, factors, seen, threshold, within, table, signatures, times):
    """The place of the text that one repeats; -1 for a new one, which takes the place of the oldest."""
    bands, capacity = np.arange(len(table)), len(times)
    numbers = signature.reshape(len(table), -1).astype(np.uint64) @ factors >> np.uint64(24)
    cells = bands, numbers & np.uint64(table.shape[1] - 1)
    known = [place for place in set((table[cells] - 1).tolist()) if place >= 0]
    near = [place for place in known if abs(times[place] - time) <= within]
    alike = {place: (signatures[place] == signature).mean() for place in near}
    similar = [place for place in near if alike[place] >= threshold]
    if similar:
        return min(similar, key=lambda place: (-alike[place], (place - seen) % capacity))
    place = seen % capacity
    signatures[place], times[place], table[cells] = signature, time, place + 1
    return -1


def letter_kinds(text, kinds):
    """The bits of the kinds of all letters of a text."""
    return int(np.bitwise_or.reduce([0, *(kinds[ord(c)] for c in text if ord(c) < len(kinds))]))


def cut_parts(text, kinds):
    """What stands between blanks, the same without marks, in lower case, small words, and traits of each."""
    marks = "".join(map(chr, np.flatnonzero(kinds & 1)))
    parts, bare = text.split(), [part.strip(marks) for part in text.split()]
    traits = bytes(
        word[:1].isupper()
        + 2 * word[:1].isdecimal()
        + 4 * part.startswith(word)
        + 8 * part.endswith(word or " ")
        + 16 * (not word or (ord(part[-1]) < len(kinds) and bool(kinds[ord(part[-1])] & 2)))
        + 32 * word.islower()
        for part, word in zip(parts, bare, strict=True)
    )
    return parts, bare, list(map(str.lower, bare)), set(filter(str.islower, bare)), traits


def spot_words(text, kinds, dull):
    """Words that begin with a letter of kind 1, not behind one of kind 2, and go on with those of kind 4."""
    marks = [int(kinds[ord(c)]) if ord(c) < len(kinds) else 0 for c in text]
    found, at = [], 0
    while at < len(text):
        if marks[at] & 1 and not (at and marks[at - 1] & 2):
            end = next((k for k in range(at + 1, len(text)) if not marks[k] & 4), len(text))
            found.append((at, end, text[at:end]))
            at = end
        else:
            at += 1
    return [one for one in found if one[2] not in dull]


def strongest_keys(title, body, keys, of_title, most):
    """The most frequent keys, of equally frequent ones the first."""
    counts = Counter([keys[word] for word in title] * of_title + [keys[word] for word in body])
    del counts[""]
    return sorted(counts.items(), key=lambda one: -one[1])[:most]


def score_languages(text, moves, states, weights, scores):
    """Scores, and the number of different features that an automaton finds in bytes."""
    (rows, outputs), state, found = states.T, 0, Counter()
    for byte in text:
        state = int(moves[rows[state] + byte])
        if outputs[state] >= 0:
            found[int(outputs[state])] += 1
    table = weights.view(np.float16).astype(np.float64)
    return scores + sum((np.log1p(n) * table[one] for one, n in found.items()), 0.0), len(found)


SOUNDS = (
    (r"[^a-z]+", ""),
    (r"shch|sch|sh|tz|ts|z", "s"),
    (r"dzh|zh|j", "g"),
    (r"tch|ch", "k"),
    (r"ph", "f"),
    (r"qu", "kv"),
    (r"x", "ks"),
    (r"c(?=[eiy])", "s"),
    (r"[cq]", "k"),
    (r"w", "v"),
    (r"h", ""),
    (r"(.)\1+", r"\1"),
    (r"[aeiouy]+", "a"),
)
"""What is replaced in a name, one after the other."""


def sound_key(word, letters):
    """What spellings of a name in Latin letters have in common."""
    for pattern, sound in SOUNDS:
        word = re.sub(pattern, sound, word)
    return word[:letters].rstrip("a")
