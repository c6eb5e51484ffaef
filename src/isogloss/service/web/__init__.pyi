from ._navigation import routed_entries as routed_entries
from ._rendering import render_error as render_error
from .pages import alert_pages as alert_pages
from .pages import event_pages as event_pages
from .pages import overview_pages as overview_pages
from .pages import search_pages as search_pages
from .pages import system_pages as system_pages
from .pages import text_pages as text_pages
