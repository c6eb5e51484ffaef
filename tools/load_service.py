"""A service for tools/load.py: a folder with a filled store and a model, and ``isogloss serve`` on it."""

import re
import subprocess
import sys
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from load_news import News

from isogloss import io
from isogloss.events import parse_article
from isogloss.events.ingest import sample_corpus
from isogloss.service.settings import (
    LimitSettings,
    ModelSettings,
    Settings,
    StoreSettings,
    StreamSettings,
    WorkerSettings,
)
from isogloss.similarity import HubSimilarity
from isogloss.store import Store

COMPONENTS = 50
DAYS = 2
PART = 500


def prepare(options):
    """Settings, a model and a store with so many articles in events; what is there already is kept."""
    folder, database = options.folder, options.database
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / "similarity.isogloss"
    make_model(model)
    settings = Settings(
        store=StoreSettings(place=database or "load.db"),
        limits=LimitSettings(writes_per_second=options.allowance),
        stream=StreamSettings(max_articles=options.window, encoder=options.encoder),
        worker=WorkerSettings(jobs=options.jobs),
        models=ModelSettings(similarity=model.name),
    )
    (folder / "isogloss.toml").write_text(settings.as_toml(), encoding="utf-8")
    with Store(database or folder / "load.db") as store:
        fill(store, options.prefill)
    if options.prefill and subprocess.run(command("work", "--once"), cwd=folder, check=False).returncode:
        sys.exit(f"the articles of {folder} could not be made into events; isogloss work says why")


def make_model(path):
    """A small similarity model, unless there is one."""
    if not path.exists():
        io.save(HubSimilarity(COMPONENTS, random_state=0).fit(sample_corpus()), path)


def fill(store, articles):
    """Put articles of the last days into a store, until it has so many."""
    begin, news = datetime.now(UTC) - timedelta(days=DAYS), News(seed=0)
    for start in range(store.counts()["article"], articles, PART):
        moments = [
            begin + timedelta(days=DAYS) * n / articles for n in range(start, min(start + PART, articles))
        ]
        store.add([parse_article(news.article(moment), check_language=False) for moment in moments])


@contextmanager
def serving(folder):
    """Serve a folder for as long as the block takes; gives the address and the process."""
    log = folder / "serve.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            command("serve", "--port", "0"), cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            found = re.search(r"http://\S+", process.stdout.readline())
            if found is None:
                sys.exit(f"the service did not start; see {log}")
            yield found.group(), process.pid
        finally:
            process.terminate()
            process.wait(60)


def command(*words):
    """A command of isogloss, with the Python that runs this."""
    return [str(Path(sys.executable).with_name("isogloss")), *words]


def memory_of(process):
    """Megabytes of a process."""
    told = Path("/proc", str(process), "status").read_text()
    return int(re.search(r"^VmRSS:\s+(\d+)", told, re.MULTILINE)[1]) / 1024


def memory(pid):
    """Megabytes of a process, and of those that it started."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            told = dict(re.findall(r"^(PPid|VmRSS):\s+(\d+)", (place / "status").read_text(), re.MULTILINE))
            found[int(place.name)] = int(told["PPid"]), int(told.get("VmRSS", 0)) / 1024
    started = [size for parent, size in found.values() if parent == pid]
    return found.get(pid, (0, 0.0))[1], sum(started)
