"""Try faults on a running service, round after round, and look for anything lost, doubled or different.

    python -m tests.crash.harness --rounds 50 --store sqlite --fault kill --seed 1

In a round clients send articles, a fault strikes at a random moment, the service goes on or is started again,
and what was not acknowledged is sent again. Then every acknowledged article must be there once, and all
tables must be those of a replay of the journal in a store that no fault came near; where the worker refuses
to go on and says why, ``isogloss doctor --rebuild`` must give the events of a replay.

Rounds of one fault follow each other on one store. What a round does is drawn from the seed, the fault and
the number of the round: ``--first N --rounds 1`` plays round N again, on a new store.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

from isogloss.store import Store
from tests.crash.trial import LIMIT_S, SETTINGS, Trial, can_mount, command, open_place, small_file_system
from tools.private_postgres import programs

ARTICLES = 16
"""Articles of a round."""

MOMENTS = 0.8
"""Seconds after the first article in which a fault strikes."""

JUNK = ({"title": 5, "time": "never"}, {"title": "Rain"}, [], 7)
"""Records that are no articles."""

HARMS = ("raise", "raise", "die", "hang", "allocate")
RETENTION = {
    "ISOGLOSS_STORE__KEEP_DAYS": "1",
    "ISOGLOSS_STORE__PRUNE_WITHOUT_ASKING": "true",
}
OFFSETS = ("-700d", "-40d", "-26h", "-1h", "+1h", "+26h", "+40d", "+9000d")

FAKETIME = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
"""The library that moves the clock of a process; Debian calls its package libfaketime."""


def kill(trial, chance, _):
    """Kill the service, one of the processes that it has started, or all of them, by SIGKILL."""
    workers = trial.workers()
    whom = chance.choice(["service", "worker", "all"])
    if whom != "service" and workers:
        for each in workers if whom == "all" else [chance.choice(workers)]:
            with suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)
    if whom != "worker" or not workers:
        trial.end(signal.SIGKILL)


def stop(trial, *_):
    """Stop the service by SIGTERM."""
    trial.end(signal.SIGTERM)


def checkpoint(trial, chance, number):
    """Turn bits of checkpoints between a stop and a start; now and then, prune the journal as well."""
    trial.end(chance.choice([signal.SIGKILL, signal.SIGTERM]))
    if number % 5 == 4:
        trial.copy_journal()
        command("prune", "--keep-days", 1, "--yes", "--store", trial.place, "--json")
    trial.flipped = True
    with Store(trial.place) as store, store.database.write() as session:
        rows = session.run("SELECT name, seq, data FROM snapshot ORDER BY seq, name")
        few = chance.random() < 0.5
        for name, line, data in chance.sample(rows, min(len(rows), chance.randint(1, 3))) if few else rows:
            bad = bytearray(data)
            for _ in range(chance.randint(1, 3)):
                bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
            session.run("UPDATE snapshot SET data = ? WHERE name = ? AND seq = ?", [bytes(bad), name, line])


def prune(trial, chance, _):
    """Prune old stories while articles come; kill the command or the service in the middle of it."""
    trial.copy_journal()
    arguments = ["prune", "--keep-days", "1", "--yes", "--store", trial.place]
    running = subprocess.Popen(
        [sys.executable, "-m", "isogloss", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | SETTINGS,
    )
    victim = chance.choice(["command", "service", "nobody"])
    if victim != "nobody":
        time.sleep(chance.uniform(0.5, 2.5))
    if victim == "command":
        running.kill()
    elif victim == "service":
        trial.end(chance.choice([signal.SIGKILL, signal.SIGTERM]))
    running.wait(LIMIT_S)


def clock(trial, chance, _, offsets=OFFSETS, again=slice(None)):
    """Move the clock of the service by hours to years, once or twice, and back; kill it meanwhile, or not."""
    for _ in range(chance.randint(1, 2)):
        trial.clock.write_text(chance.choice(offsets))
        time.sleep(chance.uniform(1.0, 1.5))  # the library looks at its file once a second
        if chance.random() < 0.3:
            trial.end(signal.SIGKILL)
            trial.start()
        trial.send(chance.sample(list(trial.records)[again], 2))
    trial.clock.write_text("+0")
    time.sleep(1.1)


def retention(trial, chance, number):
    """Move the clock as above while the service prunes old stories by itself, but to no time before the news.

    Articles that come before their time get the time of the clock, and would rightly be old afterwards. Those
    of long ago are not sent again: they would be new, and be pruned twice.
    """
    command("prune", "--keep-days", 9000, "--yes", "--store", trial.place, "--json")  # the clock is right now
    clock(trial, chance, number, OFFSETS[1:], again=slice(-2 * ARTICLES, None))


def poison(*_):
    """Articles that the worker hangs, fails, dies or grows at, and records that are no articles."""


def disk(trial, chance, _):
    """Fill the disk of the store, of temporary files or both; stop the service or not; then free them."""
    fillers = [each / "filler" for each in chance.choice([trial.disks, trial.disks[:1], trial.disks[1:]])]
    for filler in fillers:
        fill(filler, chance.choice([0, chance.randrange(1 << 18)]))
    time.sleep(chance.uniform(0.2, 1.0))
    if chance.random() < 0.3:
        trial.end(signal.SIGKILL)
        with suppress(AssertionError):  # a service may not start on a full disk, but it must not do harm
            trial.start()
    elif trial.server is None:
        trial.status()  # reading goes on
    for filler in fillers:
        filler.unlink()
    if trial.server is not None:
        with suppress(subprocess.SubprocessError):  # it runs already, unless it gave up
            trial.server.start()
    trial.close_if_ended()


def fill(path, left):
    """Fill a disk but for some bytes."""
    with open(path, "wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 16))
    with open(path, "ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(512))
    os.truncate(path, max(0, path.stat().st_size - left))


FAULTS = {each.__name__: each for each in (kill, stop, checkpoint, prune, clock, retention, poison, disk)}


def missing(fault, store):
    """What is missing here for a fault on a store, or nothing."""
    if store == "postgres" and programs() is None:
        return "no PostgreSQL here: initdb is not in the test group's wheel nor on the PATH"
    if fault in ("clock", "retention") and FAKETIME is None:
        return "libfaketime is not installed: the clock of a process cannot be moved"
    if fault == "disk" and not can_mount():
        return "a file system can be mounted by root only"
    return ""


def play(trial, fault, number, chance):
    """Play one round; what the worker said where it refused to go on."""
    if not trial.running:
        trial.start()
    poisoned = fault == "poison"
    titles = trial.write(
        number, ARTICLES, poison=chance.choice(HARMS) if poisoned else "", nameless=fault == "clock"
    )
    ended = threading.Event()
    clients = trial.load(titles, chance, stop=ended, junk=JUNK if poisoned else ())
    time.sleep(chance.uniform(0, MOMENTS))
    FAULTS[fault](trial, chance, number)
    if fault in ("kill", "stop"):
        ended.set()
    for client in clients:
        client.join(LIMIT_S)
    if not trial.running:
        trial.start()
    trial.finish(titles, chance)
    assert trial.send(trial.write(number, 1)), "an article is refused after the fault"
    refusal = trial.settle()
    if refusal or fault == "retention":  # what is compared must not be pruned meanwhile
        trial.end(signal.SIGTERM)
    if refusal:
        trial.rebuild()
    else:
        trial.check()
    if poisoned:
        found = {each["title"] for each in command("doctor", "--store", trial.place, "--json")["quarantined"]}
        assert found == {title for title in trial.records if "Belladonna" in title}, found
    return refusal


def play_all(fault, store, *, rounds, seed, first=0, say=print, starter=None):
    """Play rounds of one fault on one kind of store; the finds, and what else there is to tell.

    A starter is used for faults that change neither the environment nor the code of the service.
    """
    finds, refusals, done = [], Counter(), 0
    number, last = first, first + rounds
    acknowledged = starts = pruned = 0
    while number < last:
        with ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix=f"{fault}-{store}-", dir="/tmp"))
            folder.chmod(0o755)  # PostgreSQL runs as another user
            trial = set_up(fault, store, folder, seed, number, stack, starter)
            try:
                fresh = True
                while number < last and fresh:
                    began = time.monotonic()
                    number += 1
                    refusal = play(trial, fault, number - 1, random.Random(f"{seed}:{fault}:{number - 1}"))
                    done += 1
                    refusals[refusal[:60]] += bool(refusal)
                    fresh = not refusal  # ids are others after a rebuild: the next round has a new store
                    say(f"{store} {fault} round {number - 1}: {time.monotonic() - began:.1f} s {refusal}")
                if fresh:
                    if trial.running:
                        trial.end(signal.SIGTERM)
                    trial.rebuild()
            except Exception:
                finds.append({"fault": fault, "store": store, "seed": seed, "round": number - 1})
                say(f"{store} {fault} round {number - 1}: FOUND, see {folder}\n{traceback.format_exc()}")
                done += 1
            finally:
                trial.close()
                acknowledged += len(trial.acknowledged)
                starts += trial.starts
                pruned += trial.pruned
        if not finds:
            shutil.rmtree(folder, ignore_errors=True)
    return {
        **{"fault": fault, "store": store, "seed": seed, "first": first, "rounds": done},
        **{"acknowledged": acknowledged, "starts": starts, "pruned": pruned},
        "refusals": sum(refusals.values()),
        "finds": finds,
    }


def set_up(fault, store, folder, seed, number, stack, starter=None):
    """A trial for a fault."""
    small = fault == "disk"
    place, server = stack.enter_context(open_place(store, folder / "store", small_disk=small))
    env, moved = {}, folder / "clock"
    disks = [folder / "store", folder / "tmp"]
    if small:
        disks[1].mkdir()
        stack.enter_context(small_file_system(disks[1], 16))
        env["COMMAND_TMPDIR"] = str(disks[1])
    if fault in ("clock", "retention"):
        moved.write_text("+0")
        env |= {
            "LD_PRELOAD": str(FAKETIME),
            "FAKETIME_TIMESTAMP_FILE": str(moved),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
    if fault == "retention":
        env |= RETENTION
    poisoned = fault == "poison"
    shared = None if env or poisoned else starter
    trial = Trial(place, folder, seed + number, poisoned=poisoned, env=env, server=server, starter=shared)
    trial.clock, trial.disks = moved, disks
    return trial


def main():
    """Play what the command line asks for; exit code 1 if something was found."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.crash.harness",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=50, help="rounds of each fault on each store")
    parser.add_argument("--first", type=int, default=0, help="the number of the first round")
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    parser.add_argument("--fault", choices=[*FAULTS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.rounds < 1 or options.first < 0:
        parser.error("--rounds must be at least 1, and --first at least 0")
    code = 0
    for fault in FAULTS if options.fault == "all" else [options.fault]:
        for store in ("sqlite", "postgres") if options.store == "both" else [options.store]:
            if why := missing(fault, store):
                say(f"{store} {fault}: left out, {why}")
                continue
            told = play_all(
                fault, store, rounds=options.rounds, seed=options.seed, first=options.first, say=say
            )
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
            code |= bool(told["finds"])
    return code


def say(line):
    """Tell how it goes on."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
