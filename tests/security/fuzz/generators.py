"""Hostile inputs from a seeded generator of random numbers: the same seed gives the same input everywhere.

An input is put together from pieces that have broken parsers before: long runs of one character, constructs
that are opened and never closed, deep nesting, huge numbers, impossible dates, letters of every script, and
characters that no text should have. Or it is a sound input with some of its bytes changed.
"""

import json

SCRIPTS = [
    (0x20, 0x7F), (0xA0, 0x24F), (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x58F), (0x590, 0x5FF),
    (0x600, 0x6FF), (0x900, 0x97F), (0x980, 0x9FF), (0xB80, 0xBFF), (0xE00, 0xE7F), (0xE80, 0xEFF),
    (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x137F), (0x1780, 0x17FF),
    (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF),
]  # fmt: skip
"""Code points of scripts, from the first to one behind the last."""

NASTY = [
    "\0", "\x01", "\x1b[31m", "\x7f", "\x85", "\u00ad", "\u0300", "\u0344", "\u061c", "\u200b", "\u200c",
    "\u200d", "\u200e", "\u202e", "\u2028", "\u2066", "\ufeff", "\ufffd", "\uffff", "\ud800", "\udfff",
    "\U0010ffff", "\U000e0001", "\u0660", "\u00b2", "\u2167", "\ufdfa", "\u1e9e", "\u0130", "\u01c5",
    "e\u0301\u0327", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\r\n", "\t", "\u3000", "\u00a0",
]  # fmt: skip
"""Characters that no text should have, or that change when their case or form does."""

MARKUP = [
    "<", ">", "<!--", "-->", "<![CDATA[", "]]>", "<a ", "<a href='", '<a b="', "</", "</a>", "<p>", "<div>",
    "<div></a>", "<b>", "<table><tr>", "<script>", "<style>", "<svg>", "<math>", "<template>", "<br/>",
    "&#", "&#1", "&#x", "&#xD800;", "&#0;", "&amp;", "&amp", "&a;", "&nosuch;", "<?xml ", "<!DOCTYPE a [",
    "<!ENTITY a 'b'>", "<ref ", "<ref name=", "{{", "}}", "{{a|", "[[", "]]", "[[a|", "{|", "|}", "|-\n",
    "''", "'''''", "==", "[http://a ", "<nowiki>", "__TOC__", "\n:", "\n*#;",
]  # fmt: skip

NUMBERS = [
    "0", "-0", "1", "-1", "1e308", "1e999", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 400, "9" * 5000,
    "0" * 5000 + "1", "1." + "3" * 5000, "18446744073709551616", "9223372036854775808", "1e-400", "0x10",
    "٣", "½", "1_000", "253402300800", "-62135596801", "1" + "0" * 20,
]  # fmt: skip

DATES = [
    "0001-01-01", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2024-02-30", "2024-13-01",
    "99999-01-01", "-0001-01-01", "1900-01-01T00:00:00+14:00", "2024-01-01T25:61:61", "Mon, 00 Foo 0000",
    "Mon, 03 Mar 2031 08:00:00 +9999", "Mon, 03 Mar 2031 08:00:00 +99999999999", "1 1 1 1", "12/31/9999",
    "31.12.9999", "29. Februar 2023", "99.99.9999", "2031-W60-9", "20310305T084000Z", "10000-01-01",
    "yesterday", "2024-03-05T08:40:00Z", "2025-06-30T23:59:60Z", "",
]  # fmt: skip

STRUCTURE = ['"', "'", "\\", "\\u", "\\ud800", "[", "]", "{", "}", ":", ",", "[[", '{"a":', "//", "\n", "\t"]

WORDS = [
    "storm", "hits", "the", "coast", "President", "minister", "Berlin", "London", "Paris", "elections",
    "water", "two", "roofs", "on", "Monday", "5", "March", "Der", "Sturm", "hat", "zwei", "Dächer",
    "abgedeckt", "Präsidentin", "Küste", "El", "presidente", "elecciones", "mañana", "Буря", "над",
    "морем", "президент", "в", "среду", "台風", "東京", "総理大臣", "สวัสดี", "กรุงเทพ", "الرئيس", "العاصمة",
    "नई", "दिल्ली", "tháng", "대통령",
]  # fmt: skip

LANGUAGES = ["en", "de", "es", "ru", "ja", "th", "ar", "hi", "vi", "ko", "zh", "pl", "tr", "fi"]


def size(rng, most=20_000):
    """A length: mostly short, now and then long."""
    return int(most ** rng.random())


def run(rng, most=20_000, pieces=None):
    """One piece over and over."""
    piece = rng.choice(pieces or [*NASTY, *MARKUP, *STRUCTURE, *WORDS, " ", "a", "0", "-", "|", "\u0e01"])
    return piece * (size(rng, most) // len(piece) + 1)


def script(rng, most=300):
    """Letters of one script, with blanks or without."""
    first, last = rng.choice(SCRIPTS)
    letters = [chr(rng.randrange(first, last)) for _ in range(size(rng, most))]
    return rng.choice(["", " "]).join(letters)


def sentence(rng, words=30):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, words)))


def mixture(rng, most=60):
    """Pieces of every kind, one after the other."""
    pieces = [NASTY, MARKUP, NUMBERS, DATES, STRUCTURE, WORDS]
    joint = rng.choice(["", "", " ", "\n"])
    return joint.join(rng.choice(rng.choice(pieces)) for _ in range(size(rng, most)))


def nested(rng, most=3_000):
    """Something inside itself."""
    opening, closing = rng.choice([("<div>", "</div>"), ("[", "]"), ("{{", "}}"), ("(", ")"), ('{"a":', "}")])
    depth = size(rng, most)
    return opening * depth + rng.choice(["", "x"]) + closing * rng.choice([0, depth, depth // 2])


def text(rng, most=20_000):
    """Any text."""
    kinds = [run, script, sentence, mixture, nested]
    found = "".join(rng.choice(kinds)(rng) for _ in range(rng.randrange(1, 4)))
    if rng.random() < 0.02:
        found = (found or " ") * (most * 10 // (len(found) or 1) + 1)
        return found[: most * 10]
    return found[:most]


def value(rng, depth=3):
    """Any value that JSON can hold, and some that it cannot."""
    kind = rng.randrange(9 if depth else 6)
    if kind < 2:
        return text(rng, 500)
    if kind == 2:
        return rng.choice([None, True, False, 0, -1, 2**63, 2**64, -(10**30), 10**400])
    if kind == 3:
        return rng.choice([0.0, 1e308, 1e-308, float("nan"), float("inf"), float("-inf")])
    if kind == 4:
        return rng.choice(DATES)
    if kind == 5:
        return rng.choice(NUMBERS)
    if kind == 6:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 7:
        return {text(rng, 20): value(rng, depth - 1) for _ in range(rng.randrange(4))}
    deep = value(rng, 0)
    for _ in range(size(rng, 900)):
        deep = [deep] if rng.random() < 0.5 else {"a": deep}
    return deep


def record(rng):
    """A record that is an article, or could be taken for one."""
    made = {
        "id": str(rng.randrange(10**6)),
        "title": text(rng, rng.choice([500, 2_000, 50_000])) if rng.random() < 0.5 else sentence(rng),
        "body": text(rng) if rng.random() < 0.7 else sentence(rng, 200),
        "time": rng.choice(DATES) if rng.random() < 0.2 else f"2024-03-{rng.randrange(1, 29):02d}T08:00:00Z",
        "source": rng.choice(["The Gull", "Der Bote", text(rng, 50)]),
        "url": rng.choice(["", "https://a.example/1", "http://[", text(rng, 80)]),
    }
    if rng.random() < 0.8:
        made["lang"] = rng.choice(LANGUAGES)
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        name = rng.choice([*made, "text", "language", "published", "date", "link", "lang", "extra"])
        made[name] = value(rng)
    for _ in range(rng.choice([0, 0, 0, 1])):
        made.pop(rng.choice(list(made)), None)
    return made


def as_json(rng, thing):
    """JSON, or what some take for it."""
    try:
        found = json.dumps(thing, ensure_ascii=rng.random() < 0.5)
    except (ValueError, RecursionError):
        found = "{}"
    if rng.random() < 0.1:
        found = found.replace('"', '"' + rng.choice(NUMBERS + STRUCTURE), 1)
    if rng.random() < 0.1:
        found = found.replace(": ", ": " + rng.choice(NUMBERS), 1)
    encoding = rng.choice(["utf-8"] * 8 + ["utf-16", "utf-32", "utf-8-sig", "utf-16-le"])
    return found.encode(encoding, "surrogatepass")


def encoded(rng, found):
    """Text as bytes, in one encoding or another."""
    encoding = rng.choice(["utf-8"] * 8 + ["utf-16", "utf-32", "utf-8-sig", "utf-16-be", "latin-1", "utf-7"])
    return found.encode(encoding, "surrogatepass" if "utf" in encoding and encoding != "utf-7" else "replace")


def mutated(rng, sound, changes=6):
    """Bytes with a few changes: flipped, removed, doubled, replaced by something nasty."""
    found = bytearray(sound)
    for _ in range(rng.randrange(1, changes)):
        at = rng.randrange(len(found) + 1)
        kind = rng.randrange(6)
        if kind == 0 and found:
            found[at % len(found)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del found[at : at + size(rng, 200)]
        elif kind == 2:
            found[at:at] = found[at : at + size(rng, 200)] * rng.choice([1, 2, 50])
        elif kind == 3:
            found[at:at] = rng.choice(NASTY + MARKUP + NUMBERS + DATES + STRUCTURE).encode(
                "utf-8", "surrogatepass"
            )
        elif kind == 4:
            found[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xfe", b"\x80", b"\r\n"])
        else:
            del found[at:]
    return bytes(found)


def bend(rng, node):
    """Change one value somewhere inside."""
    while isinstance(node, (dict, list)) and node:
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        if not isinstance(node[key], (dict, list)) or not node[key] or rng.random() < 0.15:
            node[key] = value(rng, 1)
            return
        node = node[key]


def filled(rng, sound, places):
    """Bytes with a few changes, or with hostile text in one of some places."""
    if rng.random() < 0.5:
        return mutated(rng, sound, 12)
    inside = encoded(rng, text(rng, rng.choice([200, 4_000])))
    if rng.random() < 0.03:
        inside *= 1 + (1 << 18) // (len(inside) + 1)
    return sound.replace(rng.choice(places), inside, rng.choice([1, 1, -1]))
