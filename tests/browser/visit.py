"""A service on an address, and a browser that visits it."""

import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import pytest

from isogloss.service.app import create_app
from isogloss.service.server import Server, listen
from isogloss.service.settings import LimitSettings, ServerSettings, Settings
from tests.waiting import LIMIT_S

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1200, "height": 850}
MAIN = "from isogloss.cli import main; main()"


@contextmanager
def serving(store, models=None, **server):
    """The address of a service that runs in a thread until the block ends."""
    server = ServerSettings(port=0, stop_seconds=2.0, **server)
    settings = Settings(server=server, limits=LimitSettings(reads_per_second=10_000.0))
    place = listen(settings)
    running = Server(create_app(settings, store, models=models), settings)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    while not running.started and thread.is_alive():
        sleep(0.01)
    try:
        yield f"http://127.0.0.1:{place.getsockname()[1]}"
    finally:
        running.stop()
        thread.join()
        place.close()


@contextmanager
def chromium():
    """A browser: that of Playwright, or one of this machine; the test is skipped where there is none."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed; pip install playwright"
    )
    with api.sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        found = own if Path(own).exists() else next(filter(None, map(shutil.which, NAMES)), None)
        if found is None:
            pytest.skip("there is no Chromium here; playwright install chromium")
        rights = ["--no-sandbox"] if os.geteuid() == 0 else []
        api.expect.set_options(timeout=LIMIT_S * 1000)
        browser = playwright.chromium.launch(executable_path=found, args=rights, timeout=LIMIT_S * 1000)
        try:
            yield browser
        finally:
            browser.close()


def new_page(browser, **options):
    """A page in a context of its own, which waits for as long as a busy machine takes."""
    context = browser.new_context(**({"viewport": DESK} | options))
    context.set_default_timeout(LIMIT_S * 1000)
    return context.new_page()


def let_draw(page):
    """Return when the browser has drawn the page as it is now."""
    page.evaluate(
        """() => document.fonts.ready.then(() => new Promise((drawn) =>
            requestAnimationFrame(() => requestAnimationFrame(drawn))))"""
    )


class Watch:
    """Notes everything that a page does and should not.

    Parameters
    ----------
    page : Page
        Of Playwright.
    home : str
        The only address it may ask.
    """

    def __init__(self, page, home):
        self.troubles = []
        self.home = home
        page.on("console", lambda message: message.type == "error" and self.note("console", message.text))
        page.on("pageerror", lambda error: self.note("error", error))
        page.on("request", self._request)
        page.on("dialog", self._dialog)

    def note(self, kind, what):
        """Keep a trouble."""
        self.troubles.append(f"{kind}: {what}")

    def _request(self, request):
        if not request.url.startswith(f"{self.home}/"):
            self.note("request", request.url)

    def _dialog(self, dialog):
        self.note("dialog", dialog.message)
        dialog.dismiss()


@contextmanager
def demo(folder):
    """The address of ``isogloss demo --serve``, which puts its store into a folder, until the block ends."""
    with open(Path(folder, "log"), "w+b") as log:
        command = [sys.executable, "-c", MAIN, "demo", "--serve", "--port", "0", "--folder", f"{folder}/demo"]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield _address(process, Path(log.name))
        finally:
            process.terminate()
            process.wait(LIMIT_S)


def _address(process, log):
    """What the demo says where it is, once it listens there."""
    while process.poll() is None:
        said = log.read_text()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        if found and "startup complete" in said:
            return found[0]
        sleep(0.2)
    raise AssertionError(f"the demo ended with {process.returncode}: {log.read_text()}")
