from ._alerts import alert_pages as alert_pages
from ._events import event_pages as event_pages
from ._overviews import overview_pages as overview_pages
from ._search import search_pages as search_pages
from ._system import system_pages as system_pages
from ._texts import text_pages as text_pages
