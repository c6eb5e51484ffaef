"""Take the pictures of the pages of the demo anew: ``python -m tests.browser.screenshots docs/images``."""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.browser.visit import PHONE, chromium, demo

EVENT = "/search?q=Nordvik+and+Castell+Lines+to+merge"
"""Where the first card is the event to show."""

ICELAND = "/place/2629691"
COMPARED = (
    "/compare?a=A+fire+in+the+museum+injured+two+people+on+Thursday"
    "&b=Un+incendie+au+mus%C3%A9e+a+bless%C3%A9+deux+personnes+jeudi&lang_a=en&lang_b=fr"
)


def _wide(height):
    return {"width": 1100, "height": height}


PICTURES = {
    "pages-now": ("/", "light", _wide(800), ""),
    "pages-event": (EVENT, "light", _wide(1060), ""),
    "pages-why": (EVENT, "dark", _wide(850), "[aria-labelledby=why]"),
    "pages-place": (ICELAND, "light", _wide(800), ""),
    "pages-search": (
        "/search?q=%D0%B7%D0%B5%D0%BC%D0%BB%D0%B5%D1%82%D1%80%D1%8F%D1%81%D0%B5%D0%BD%D0%B8%D0%B5",
        "light",
        _wide(560),
        "",
    ),
    "pages-compare": (COMPARED, "light", _wide(700), "[aria-labelledby=result]"),
    "pages-topics": ("/topics", "light", _wide(560), ""),
    "pages-dictionary": ("/dictionary?word=election&lang=en", "light", _wide(430), ""),
    "pages-models": ("/models", "light", _wide(800), ""),
    "pages-status": ("/status", "light", _wide(760), ""),
    "pages-phone": ("/", "dark", PHONE, ""),
}


def take(folder):
    """Write every picture to a folder, with few colours so that it is small."""
    with tempfile.TemporaryDirectory() as place, demo(place) as home, chromium() as browser:
        for name, (path, scheme, size, part) in PICTURES.items():
            page = browser.new_page(color_scheme=scheme, viewport=size)
            page.goto(home + path, wait_until="load")
            if path == EVENT:
                page.goto(home + page.locator(".card h2 a").first.get_attribute("href"))
            shown = page.locator(part).first if part else page
            taken = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
            taken.quantize(128, dither=Image.Dither.NONE).save(Path(folder, f"{name}.png"), optimize=True)
            page.close()


if __name__ == "__main__":
    take(sys.argv[1])
