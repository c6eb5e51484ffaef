"""Run a service on several hosts, hurt them one after the other, and see that nothing is lost.

    python tools/hosts.py --folder hosts

The hosts are network namespaces of this machine (root, iproute2): one has a private PostgreSQL, one the
service and its worker, one helps, and from one articles are sent without an end. Hosts are cut off, processes
are killed with -9, and after each blow it is measured how long it takes until all goes on. At the end every
article that was acknowledged must be there once, and events must be, to the byte, those that one process
makes of the same journal without help. The last line is JSON; the code is 1 if something is not as it must
be, and 0, with a sentence, where there can be no hosts.
"""

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import hosts_network
from hosts_parts import Parts, Sender
from private_postgres import PrivatePostgres, programs

from isogloss.exceptions import StoreError
from isogloss.store import Store

LONGEST = 120.0
"""Seconds after which what has not recovered counts as lost."""

TABLES = {
    "cluster": "SELECT * FROM cluster ORDER BY id",
    "member": "SELECT * FROM member ORDER BY article",
    "link": "SELECT * FROM link ORDER BY a, b",
    "event": "SELECT id, first, last, size, languages, data FROM event ORDER BY id",
    "event_term": "SELECT * FROM event_term ORDER BY event, kind, term",
    "alias": "SELECT * FROM alias ORDER BY id",
}
"""What events are, but for the line of the journal at which one changed: it depends on who was how fast."""


def main():
    """Do what the command line asks."""
    options = parse()
    bin = programs()
    why = hosts_network.missing() or ("" if bin else "no PostgreSQL here: initdb is not found")
    if why:
        print(f"skipped: {why}")
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    try:
        with hosts_network.network("database", "service", "helper", "desk") as hosts:
            told = story(options, hosts, PrivatePostgres(bin, place, "-c listen_addresses='*'").make())
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(json.dumps(told))
    return int(not told["well"])


def parse():
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path("hosts"), help="where settings and logs go")
    parser.add_argument("--burst", type=int, default=1000, help="articles that are sent at once")
    parser.add_argument("--every", type=float, default=4.0, help="seconds from one burst to the next")
    parser.add_argument("--blows", nargs="*", default=[*BLOWS], choices=[*BLOWS], help="what is done to them")
    return parser.parse_args()


def story(options, hosts, server):
    """Start everything, strike, and look at what is left."""
    with (server.data / "pg_hba.conf").open("a") as rules:
        rules.write("host all all 10.90.0.0/24 trust\n")
    hosts["database"].do(server.start)
    try:
        with (
            Parts(options.folder, hosts, server) as parts,
            Store(server.url) as store,
            Sender(
                hosts["desk"], parts.url, parts.token, options.burst, options.every,
                lambda: steadily(store.position),
            ) as sender,
        ):  # fmt: skip
            took = {"all start": goes_on(parts, store, sender)}
            for name in options.blows:
                took[name] = BLOWS[name](parts, store, sender)
                print(f"{name}: {took[name]}", flush=True)
            acknowledged = sender.stop()
            finish(store)
            codes = parts.stop()
            seen = {"recovered_after_s": took, "refused": sender.failed, "codes": codes}
            return seen | judged(parts, store, acknowledged, codes)
    finally:
        hosts["database"].do(server.stop)


def goes_on(parts, store, sender, *, helper=True):
    """Seconds until articles are taken, made into events and prepared elsewhere; None if they never are."""
    began, sent = time.monotonic(), sender.acknowledged
    line, helped = steadily(lambda: (store.position(), parts.helped(store)))
    waiting = {
        "articles": lambda: sender.acknowledged > sent,
        "events": lambda: store.position() > line,
    }
    if helper:
        waiting["helper"] = lambda: parts.helped(store) > helped
    seconds = {}
    while waiting and time.monotonic() < began + LONGEST:
        for name in [name for name, is_so in waiting.items() if steadily(is_so)]:
            seconds[name] = round(time.monotonic() - began, 1)
            del waiting[name]
        time.sleep(0.1)
    return seconds | dict.fromkeys(waiting)


def steadily(look):
    """What a look at the store tells, which may have lost its connection to the database."""
    for _ in range(20):
        with suppress(StoreError):
            return look()
        time.sleep(0.5)
    return look()


def cut_off_helper(parts, store, sender):
    """The host that helps loses its cable while it holds claims, and gets it back."""
    parts.hosts["helper"].cut()
    without = goes_on(parts, store, sender, helper=False)
    time.sleep(10)
    parts.hosts["helper"].mend()
    return {"without it": without, "cable back": goes_on(parts, store, sender)}


def kill_helper(parts, store, sender):
    """The process that helps is killed, and another is started."""
    parts.kill("prepare")
    parts.start("prepare")
    return goes_on(parts, store, sender)


def kill_worker(parts, store, sender):
    """The worker is killed; one that waits on the other host takes over."""
    parts.start("standby")
    parts.kill("work")
    return goes_on(parts, store, sender)


def cut_off_worker(parts, store, sender):
    """The host of the worker that took over loses its cable; the first one takes over again."""
    parts.start("work")
    time.sleep(3)
    parts.hosts["helper"].cut()
    without = goes_on(parts, store, sender, helper=False)
    parts.hosts["helper"].mend()
    return {"without it": without, "cable back": goes_on(parts, store, sender)}


def cut_off_database(parts, store, sender):
    """The database loses its cable for some seconds."""
    parts.hosts["database"].cut()
    time.sleep(10)
    parts.hosts["database"].mend()
    return goes_on(parts, store, sender)


def kill_database(parts, store, sender):
    """The database is stopped without a farewell, and started again."""
    parts.hosts["database"].do(parts.server.stop)
    parts.hosts["database"].do(parts.server.start)
    return goes_on(parts, store, sender)


def kill_service(parts, store, sender):
    """The service is killed in the middle of requests, and started again."""
    parts.kill("serve")
    parts.start("serve")
    return goes_on(parts, store, sender)


BLOWS = {
    each.__name__.replace("_", "-"): each
    for each in (
        cut_off_helper, kill_helper, kill_worker, cut_off_worker,
        cut_off_database, kill_database, kill_service,
    )
}  # fmt: skip


def finish(store):
    """Wait until all articles are in events, and events up to date."""
    end = time.monotonic() + 10 * LONGEST
    while time.monotonic() < end:
        with store.database.read() as session:
            ((last,),) = session.run("SELECT coalesce(max(seq), 0) FROM journal")
        if store.position() == last:
            time.sleep(3)
            with store.database.read() as session:
                if session.run("SELECT coalesce(max(seq), 0) FROM journal") == [(last,)]:
                    return
        time.sleep(0.5)


def judged(parts, store, acknowledged, codes):
    """Whether all is as it must be."""
    with store.database.read() as session:
        there = [name for (name,) in session.run("SELECT id FROM article")]
    made, tallies = digest(store), dict(store.tallies())
    doctor = parts.run("doctor", "--rebuild", "--json")
    alone = digest(store)
    told = {
        "acknowledged": len(acknowledged),
        "lost": len(set(acknowledged) - set(there)),
        "twice": len(there) - len(set(there)),
        "events": store.counts()["event"],
        "prepared": tallies,
        "events_as_alone": made == alone,
        "troubles": json.loads(doctor)["troubles"],
    }
    codes_well = not any(codes.values())
    well = codes_well and made == alone and not (told["lost"] or told["twice"] or told["troubles"])
    return told | {"well": well and tallies.get("prepared_elsewhere", 0) > 0}


def digest(store):
    """A fingerprint of all events."""
    found = hashlib.sha256()
    with store.database.read() as session:
        for question in TABLES.values():
            for row in session.run(question):
                found.update(repr(row).encode())
    return found.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
