"""Fuzz all readers: ``python -m tests.security.fuzz --inputs 100000 --seed 1``.

Inputs go to the targets by turns, some thousand at a time, each of these in a process of its own: one that
hangs or dies is a find, and the next goes on behind it. Finds are printed as they come and written as JSON
lines with ``--output``; ``--target NAME --index N --seed S`` runs one input again and shows what it is.
"""

import argparse
import faulthandler
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.security.fuzz.budget import Find, checked, cost_of
from tests.security.fuzz.targets import TARGETS

CHUNK = 2_000
HANG_SECONDS = 120.0


def _say(line, file=None):
    file = file or sys.stdout
    file.write(f"{line}\n")
    file.flush()


def fuzz(target, seed, indices, *, progress=None):
    """Yield what inputs of a target are over their budget."""
    for index in indices:
        given = target.generate(random.Random(f"{target.name}:{seed}:{index}"))
        if progress is not None:
            progress(index)
        cost = checked(target, given)
        if cost.kind:
            yield Find(target.name, seed, index, cost.kind, str(cost))


def shares(inputs, names):
    """How many inputs each target gets."""
    total = sum(TARGETS[name].share for name in names)
    return {name: max(1, round(inputs * TARGETS[name].share / total)) for name in names}


def _chunk(options):
    """Fuzz some inputs in this process, and print finds as JSON lines."""
    target, place = TARGETS[options.target](), os.open(options.progress, os.O_WRONLY)

    def progress(index):
        os.pwrite(place, struct.pack("<q", index), 0)
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)

    for find in fuzz(
        target, options.seed, range(options.start, options.start + options.inputs), progress=progress
    ):
        _say(json.dumps(find))
    faulthandler.cancel_dump_traceback_later()
    target.close()


def _in_process(name, seed, start, count):
    """Finds of some inputs, fuzzed in another process; one that ends early is a find as well."""
    while count > 0:
        with tempfile.NamedTemporaryFile() as progress:
            progress.write(struct.pack("<q", start))
            progress.flush()
            command = ["--chunk", "--target", name, "--seed", seed, "--start", start, "--inputs", count]
            done = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "tests.security.fuzz",
                    *map(str, command),
                    "--progress",
                    progress.name,
                ],
                capture_output=True,
                text=True,
                # A huge page that a sparse table of a new stream touches would count as a whole.
                env=os.environ | {"NUMPY_MADVISE_HUGEPAGE": "0", "OPENBLAS_NUM_THREADS": "1"},
            )
            yield from (Find(*json.loads(line)) for line in done.stdout.splitlines())
            if done.returncode == 0:
                return
            (last,) = struct.unpack("<q", Path(progress.name).read_bytes())
            yield Find(name, seed, last, "died", f"exit code {done.returncode}: {done.stderr[-600:]}")
            count -= last + 1 - start
            start = last + 1


def _show(options):
    """Run one input, and print it and what it cost."""
    target = TARGETS[options.target]()
    given = target.generate(random.Random(f"{target.name}:{options.seed}:{options.index}"))
    _say(repr(given)[:2_000])
    for _ in range(2):
        _say(str(cost_of(target, given)))
    target.close()


def main():
    """Fuzz what the command line asks for; exit code 1 if there are finds."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.security.fuzz", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=sorted(TARGETS))
    parser.add_argument("--index", type=int, help="run this input alone and show it")
    parser.add_argument("--output", type=Path, help="append finds to this file as JSON lines")
    for name, kind in {"--start": int, "--progress": str}.items():
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    parser.add_argument("--chunk", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.chunk:
        return _chunk(options)
    if options.index is not None:
        return _show(options)
    finds, began = Counter(), time.monotonic()
    names = [options.target] if options.target else list(TARGETS)
    left = shares(options.inputs, names)
    counts = dict.fromkeys(names, 0)
    while any(left.values()):
        for name in names:
            count = min(CHUNK, left[name])
            for find in _in_process(name, options.seed, counts[name], count) if count else ():
                finds[find.kind] += 1
                _say(json.dumps(find))
                if options.output:
                    with options.output.open("a") as file:
                        file.write(json.dumps(find) + "\n")
            left[name] -= count
            counts[name] += count
            done = sum(counts.values())
            _say(f"{done:,} inputs, {time.monotonic() - began:.0f} s, finds: {dict(finds)}", sys.stderr)
    _say(json.dumps({"inputs": counts, "finds": finds}))
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
