"""The store: articles, journal and events in SQLite or PostgreSQL, behind one small interface.

===============  ====================================================================
``database``     what is asked of a database: transactions and statements
``sqlite``       one file, one writer
``postgres``     a server
``arrays``       one statement for many rows, for the server
``schema``       the tables, and the steps from one version to the next
``articles``     what came, once and in order, with earlier texts
``projection``   clusters, links and events, up to a line of the journal
``preparation``  articles that others prepare, and who is at which
``points``       where articles are in a common space, with pgvector
``queries``      questions about events, page by page
``store``        all of it
``upkeep``       what is too old goes; copies, restoring, a look at its health
===============  ====================================================================
"""

from isogloss.store.articles import Entry, Receipt, from_micros, micros
from isogloss.store.database import Database, Session
from isogloss.store.postgres import PostgresDatabase
from isogloss.store.projection import Changeset, ClusterRow, EventRow, LinkRow, Update
from isogloss.store.queries import EventPage, EventQuery
from isogloss.store.schema import migrate
from isogloss.store.sqlite import SQLiteDatabase
from isogloss.store.store import Store, take_in
from isogloss.store.upkeep import back_up, forget_before, look_over, restore

__all__ = [
    "Changeset",
    "ClusterRow",
    "Database",
    "Entry",
    "EventPage",
    "EventQuery",
    "EventRow",
    "LinkRow",
    "PostgresDatabase",
    "Receipt",
    "SQLiteDatabase",
    "Session",
    "Store",
    "Update",
    "back_up",
    "forget_before",
    "from_micros",
    "look_over",
    "micros",
    "migrate",
    "restore",
    "take_in",
]
