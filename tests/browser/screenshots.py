"""Take the pictures of the pages anew: ``python -m tests.browser.screenshots docs/images``."""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

from isogloss.store import Store
from tests.browser import newsroom
from tests.browser.visit import DESK, PHONE, chromium, serving

COMPARED = (
    "/compare?a=the+old+blue+house+by+the+sea&b=la+vieille+maison+bleue+au+bord+de+la+mer&lang_a=en&lang_b=fr"
)
PICTURES = {
    "pages-now": ("/?min_languages=4", "light", {"width": 1000, "height": 760}, ""),
    "pages-event": ("/event/e22", "light", {"width": 1000, "height": 900}, ""),
    "pages-why": ("/event/e22", "dark", DESK, "#why ~ .reason"),
    "pages-compare": (COMPARED, "light", {"width": 1000, "height": 700}, "[aria-labelledby=result]"),
    "pages-phone": ("/?min_languages=4", "dark", PHONE, ""),
}


def take(folder):
    """Write every picture to a folder, with few colours so that it is small."""
    with (
        tempfile.TemporaryDirectory() as place,
        Store(Path(place, "news.db")) as store,
        chromium() as browser,
    ):
        newsroom.fill(store)
        with serving(store, newsroom.models()) as home:
            for name, (path, scheme, size, part) in PICTURES.items():
                page = browser.new_page(color_scheme=scheme, viewport=size)
                page.goto(home + path)
                shown = page.locator(part).first if part else page
                taken = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
                taken.quantize(64, dither=Image.Dither.NONE).save(Path(folder, f"{name}.png"), optimize=True)
                page.close()


if __name__ == "__main__":
    take(sys.argv[1])
