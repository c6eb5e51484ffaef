"""Put a service under load, and measure how it bears it.

    python tools/load.py --folder load --prefill 100000 --seconds 60
    python tools/load.py --url http://127.0.0.1:8470 --ingest 300 --similar 10 --pages 10

Without a URL a service is started in a folder, on SQLite or on --database, with so many articles in events
before the clock starts; the folder is kept and used again. Articles come one by one and in batches;
similarity of texts, nearest articles and pages are asked for all the while. Requests start at times fixed
beforehand, whether or not earlier ones have been answered, and their latency is counted from those times. The
last line is JSON.
"""

import argparse
import json
import re
import sys
import threading
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

from load_clients import WRITES, ask, connect, start
from load_service import memory, prepare, serving
from rich.console import Console
from rich.table import Table

from isogloss.threads import bound_process


def main():
    """Do what the command line asks."""
    options = parse()
    bound_process()
    if not options.url:
        prepare(options)
    with serving(options.folder) if not options.url else nullcontext((options.url, None)) as (url, pid):
        options.url = url
        if not options.only_prepare:
            report = measure(options, pid)
            show(report)
            print(json.dumps(report))
            return 0 if report["articles_per_second"] else 1
    return 0


def parse():
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", default="", help="address of a service that runs; without it one is started")
    parser.add_argument("--token", default="", help="a token that may write, if the service wants one")
    parser.add_argument("--folder", type=Path, default=Path("load"), help="where a service is started")
    parser.add_argument("--database", default="", help="postgresql://... instead of a file in the folder")
    parser.add_argument("--prefill", type=int, default=0, help="articles in events before the clock starts")
    parser.add_argument("--window", type=int, default=100_000, help="articles in the window at most")
    parser.add_argument(
        "--encoder", action="store_true", help="stream.encoder of the service that is started"
    )
    parser.add_argument("--jobs", type=int, default=1, help="worker.jobs of the service that is started")
    parser.add_argument(
        "--allowance",
        type=float,
        default=400,
        help="limits.writes_per_second of the service that is started; all articles come from one client",
    )
    parser.add_argument("--only-prepare", action="store_true", help="fill the store, start the service, stop")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--ramp", type=float, default=5, help="seconds in which rates rise from 0")
    parser.add_argument("--ingest", type=float, default=300, help="articles a second")
    parser.add_argument("--single", type=float, default=0.2, help="share of articles that come one by one")
    parser.add_argument("--batch", type=int, default=50, help="articles of any other request")
    parser.add_argument(
        "--similar",
        type=float,
        default=10,
        help="questions a second: the similarity of two texts, and the articles nearest to one, in turn",
    )
    parser.add_argument("--pages", type=float, default=10, help="page views a second")
    parser.add_argument("--connections", type=int, default=16, help="connections of each kind that ingest")
    parser.add_argument(
        "--every", type=float, default=5, help="seconds between two looks at memory and backlog"
    )
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def measure(options, pid):
    """Let clients send for a while, look at the service meanwhile, and after it until it is well."""
    rates = {
        "one": options.ingest * options.single,
        "batch": options.ingest * (1 - options.single) / options.batch,
        "similarity": options.similar / 2,
        "nearest": options.similar / 2,
        "page": options.pages,
    }
    begin, done, samples = time.time() + 4, threading.Event(), []
    wires = [
        start(options, {kind: rates[kind] for kind in kinds}, begin)
        for kinds in (WRITES, ("similarity", "nearest", "page"))
    ]
    watcher = threading.Thread(target=watch, args=(options, pid, begin, done, samples))
    watcher.start()
    found = wires[0].recv() | wires[1].recv()
    seconds = time.time() - begin
    well = recovery(options)
    done.set()
    watcher.join()
    return summary(options, rates, found, seconds, samples, well)


def watch(options, pid, begin, done, samples):
    """Look at memory, backlog and events every few seconds."""
    while not done.is_set():
        connection = connect(options.url)
        text = ask(connection, options.token, "GET", "/api/v1/metrics")[1].decode()
        connection.close()
        own = figure(text, "process_resident_memory_bytes") / 2**20
        service, worker = memory(pid) if pid else (own, 0.0)
        samples.append(
            {
                "second": round(time.time() - begin, 1),
                "service_mb": round(service, 1),
                "worker_mb": round(worker, 1),
                "waiting": int(figure(text, "isogloss_waiting")),
                "articles": int(figure(text, "isogloss_stored_articles")),
                "events": int(figure(text, "isogloss_stored_events")),
            }
        )
        done.wait(options.every)


def recovery(options):
    """Seconds until an article is taken and the first page is there again, at most a minute."""
    connection, begin = connect(options.url), time.time()
    article = {"title": "After the load", "time": "2025-03-05", "source": "load", "id": f"{begin}"}
    requests = [("POST", "/api/v1/articles", article), ("GET", "/", None)]
    while requests and time.time() < begin + 60:
        if ask(connection, options.token, *requests[0])[0] in (200, 202):
            requests.pop(0)
        else:
            time.sleep(0.2)
    return None if requests else round(time.time() - begin, 2)


def summary(options, rates, found, seconds, samples, well):
    """Everything that was measured."""
    taken = found["one"][1].get(202, 0) + found["batch"][1].get(202, 0) * options.batch
    wanted = {kind: rate * (options.seconds - options.ramp / 2) for kind, rate in rates.items()}
    statuses = {kind: told for kind, (_, told) in found.items()}
    ended = Counter()
    for told in statuses.values():
        ended.update(told)
    return {
        "seconds": round(seconds, 1),
        "articles_per_second": round(taken / max(options.seconds - options.ramp / 2, 1e-9), 1),
        "wanted_per_second": options.ingest,
        "latency_ms": {kind: quantiles(waits) for kind, (waits, _) in found.items()},
        "statuses": statuses,
        "not_sent": {kind: max(0, int(wanted[kind]) - sum(statuses[kind].values())) for kind in rates},
        "shed": ended[503] + ended[429],
        "recovered_after": well,
        "memory_mb_per_minute": {name: slope(samples, name) for name in ("service_mb", "worker_mb")},
        "samples": samples,
    }


def figure(text, name):
    """A figure of the metrics, 0 if it is not there."""
    found = re.search(rf"^{name} (\S+)", text, re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def quantiles(seconds):
    """The median, the 99th hundredth and the largest, in milliseconds."""
    ordered = sorted(seconds)
    if not ordered:
        return {}
    places = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    last = len(ordered) - 1
    return {name: round(1000 * ordered[min(last, int(p * len(ordered)))], 1) for name, p in places.items()}


def slope(samples, name):
    """How fast a figure grows in the second half of the time, a minute."""
    late = samples[len(samples) // 2 :]
    minutes = [each["second"] / 60 for each in late]
    middle, mean = sum(minutes) / len(late), sum(each[name] for each in late) / len(late)
    spread = sum((one - middle) ** 2 for one in minutes)
    both = sum((one - middle) * (each[name] - mean) for one, each in zip(minutes, late, strict=True))
    return round(both / spread, 2) if spread else 0.0


def show(report):
    """The report as two tables."""
    table = Table("request", "answered", "not sent", "p50 ms", "p99 ms", "largest ms")
    for kind, counts in report["statuses"].items():
        said = ", ".join(f"{number} x {status or 'none'}" for status, number in sorted(counts.items()))
        figures = report["latency_ms"][kind]
        late = str(report["not_sent"][kind])
        table.add_row(kind, said, late, *(str(figures.get(name, "")) for name in ("p50", "p99", "max")))
    course = Table(*(name.replace("_", " ") for name in report["samples"][0]))
    for sample in report["samples"]:
        course.add_row(*map(str, sample.values()))
    console = Console(file=sys.stderr)
    console.print(
        f"{report['articles_per_second']} articles a second, {report['wanted_per_second']:g} wanted; "
        f"{report['shed']} requests sent away; well again after {report['recovered_after']} s; "
        f"memory grows by {report['memory_mb_per_minute']} a minute"
    )
    console.print(table)
    console.print(course)


if __name__ == "__main__":
    sys.exit(main())
