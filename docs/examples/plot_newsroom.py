"""
An afternoon with the newsroom
==============================

The Python client reads a running service: it pages by itself, makes DataFrames, and follows events while
they change. Here a service with part of the sample news runs in this program; yours is at the address that
``isogloss newsroom`` prints.
"""

# %%
# A service to talk to. The first 110 articles of the sample news are stored, and made into events.

import tempfile
from contextlib import ExitStack
from pathlib import Path

import matplotlib.pyplot as plt

from isogloss.events.ingest import sample_news
from isogloss.service.app import create_app
from isogloss.service.client import Client
from isogloss.service.server import running
from isogloss.service.settings import ServerSettings, Settings
from isogloss.service.worker import JournalProcessor, StreamFactory
from isogloss.store import Store

articles = sample_news().articles
around = ExitStack()
folder = around.enter_context(tempfile.TemporaryDirectory())
store = around.enter_context(Store(Path(folder, "news.db")))
store.add(articles[:110])
worker = JournalProcessor(store, StreamFactory())
worker.catch_up()
settings = Settings(server=ServerSettings(port=0))
url = around.enter_context(running(create_app(settings, store), settings))
client = around.enter_context(Client(url))

# %%
# All events as a table, the most important first. ``languages`` and ``places`` are lists.

events = client.events_frame(sort="importance")
events[["id", "title", "languages_count", "size", "first", "last"]].head(8)

# %%
# Search in any language: articles of every language are found, and ``matches`` says why.

found = client.events("tremblement de terre")
for event in found["events"]:
    match = found["matches"][event["id"]]
    print(event["id"], f"{match['relevance']:.2f}", match["reasons"], event["title"].get("en"))

# %%
# One event: who reported first, and what differs between languages.

story = client.story(events["id"][0])
for source in story["sources"][:4]:
    print(f"{source['name']:<24}{source['first']}  {source['articles']} articles")

# %%
# Its articles as a table, and when each language wrote about it.

mine = client.articles_frame(event=events["id"][0])
by_day = mine.groupby([mine["time"].dt.floor("12h"), "lang"]).size().unstack(fill_value=0)
by_day.plot.bar(stacked=True, width=0.9, figsize=(7, 3), ylabel="articles", xlabel="")
plt.xticks(rotation=30, ha="right")
plt.tight_layout()

# %%
# Follow what happens from now on. ``changes`` yields new and changed events as the worker writes them; it
# waits for the next one, and reconnects after a broken connection. Here the rest of the news arrives, and we
# look at what became of it.

line = int(events["changed"].max())
store.add(articles[110:140])
worker.catch_up()
for event in client.changes(after=line, seconds=3):
    titles = event["title"]
    print(event["id"], event["size"], "articles:", titles.get("en") or next(iter(titles.values())))

# %%
# Save everything for pandas, polars, R or DuckDB, then stop the service.

client.export_articles(Path(folder, "articles.csv"), sort="size")
print(Path(folder, "articles.csv").read_text().splitlines()[0])
worker.close()
around.close()
