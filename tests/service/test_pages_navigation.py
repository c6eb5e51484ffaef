"""The navigation lists the pages that exist and have something to show."""

from html.parser import HTMLParser

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from isogloss.service.app import PAGE_ROUTERS, create_app
from isogloss.service.settings import Settings
from isogloss.service.web._navigation import ENTRIES, routed_entries
from tests.browser import newsroom


class Links(HTMLParser):
    """Links of the navigation: path, whether it is in the menu More, whether it is the current page."""

    def __init__(self, text):
        super().__init__()
        self.in_navigation = self.in_more = False
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.in_navigation |= tag == "nav"
        self.in_more |= tag == "details"
        if tag == "a" and self.in_navigation:
            self.found.append((attributes["href"], self.in_more, "aria-current" in attributes))

    def handle_endtag(self, tag):
        self.in_navigation &= tag != "nav"
        self.in_more &= tag != "details"


def _links(store, path="/", models=None):
    with TestClient(create_app(Settings(), store, models=models), base_url="http://127.0.0.1") as client:
        return Links(client.get(path).text).found


def test_frequent_pages_come_first_and_the_others_are_in_a_menu(store):
    links = _links(store, models=newsroom.models())
    assert [path for path, in_more, _ in links if not in_more][:2] == ["/", "/search"]
    in_more = ["/compare", "/topics", "/dictionary", "/models", "/status", "/docs"]
    assert [path for path, in_more, _ in links if in_more] == in_more


def test_without_models_there_are_no_links_to_pages_that_need_them(store):
    assert [path for path, in_more, _ in _links(store) if in_more] == ["/models", "/status", "/docs"]


@pytest.mark.parametrize("path", ["/search", "/status"])
def test_the_current_page_is_marked(store, path):
    assert [each for each, _, current in _links(store, path) if current] == [path]


def test_an_entry_needs_a_route():
    assert {each.path for each in routed_entries(PAGE_ROUTERS)} >= {"/", "/search", "/status"}
    assert routed_entries([]) == ()


def test_labels_are_unique_and_fit_one_row_of_a_phone():
    labels = [each.label for each in ENTRIES]
    assert len(set(labels)) == len(labels)
    assert sum(len(each.label) for each in ENTRIES if not each.more) < 30
