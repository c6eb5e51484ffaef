from .article import Article as Article
from .article import article_from as article_from
from .event import Event as Event
from .history import History as History
from .journal import Journal as Journal
from .journal import read_journal as read_journal
from .stream import EventStream as EventStream
from .stream import StreamSettings as StreamSettings
