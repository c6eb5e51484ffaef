"""Maps: places on the outlines of land and borders.

The projection is equirectangular. The outlines are Natural Earth's (public domain), in ``world.svg``, which
``tools/world_map.py`` makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import isfinite, sqrt
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from isogloss.service.web.drawing._plots import element, fmt

_WEST, _NORTH, _WIDTH, _HEIGHT = -180.0, 80.0, 360.0, 140.0
"""Upper left corner and size of the map, in degrees."""

_UNITS_PER_DEGREE = 10
"""Units of the outlines."""

_MIN_HEIGHT = 44.0
"""Smallest section of the map, in degrees of latitude."""


@cache
def world_map_svg() -> str:
    """Return the outlines ``land`` and ``borders``, a separate image that browsers can cache.

    Examples
    --------
    >>> print(world_map_svg()[:64])
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 3600 1400">
    """
    return Path(__file__).with_name("world.svg").read_text("utf-8")


def event_map(places: Sequence[Mapping[str, Any]], background: str, *, width: int = 360) -> Markup:
    """Draw places on the smallest section of the map that contains them.

    Places have ``name``, ``latitude``, ``longitude``, ``count`` and possibly ``url``, which the dot links to;
    those without coordinates are omitted. ``background`` is the URL of :func:`world_map_svg`, ``width`` that
    at which texts have the size of other texts, in pixels.
    """
    spots = [_spot(place) for place in places if _has_coordinates(place)]
    x, y, extent, height = _section([(spot.x, spot.y) for spot in spots])
    unit = extent / width
    outlines = [
        element("use", href=f"{background}#{part}", class_=part, transform=f"scale({1 / _UNITS_PER_DEGREE})")
        for part in ("land", "borders")
    ]
    drawn = [_dot(spot, unit) for spot in spots]
    names = element("g", *_labels(spots, unit, x + extent), font_size=11 * unit)
    alt = f"Map of {', '.join(spot.name for spot in spots[:10])}" if spots else "Map of the world"
    box = " ".join(fmt(each) for each in (x, y, extent, height))
    role = "group" if any(spot.url for spot in spots) else "img"
    return element("svg", *outlines, *drawn, names, class_="map", viewBox=box, role=role, aria_label=alt)


class _Spot(NamedTuple):
    """A place on the map."""

    x: float
    y: float
    name: str
    weight: float
    url: str


def _has_coordinates(place: Mapping[str, Any]) -> bool:
    coordinates = place.get("latitude"), place.get("longitude")
    return all(isinstance(each, int | float) and isfinite(each) for each in coordinates)


def _spot(place: Mapping[str, Any]) -> _Spot:
    x = min(max(float(place["longitude"]) - _WEST, 0.0), _WIDTH)
    y = min(max(_NORTH - float(place["latitude"]), 0.0), _HEIGHT)
    return _Spot(x, y, str(place.get("name", "")), float(place.get("count") or 1), str(place.get("url", "")))


def _section(spots: Sequence[tuple[float, float]]) -> tuple[float, float, float, float]:
    """Return the smallest section that contains all spots, with the aspect ratio of the map.

    Examples
    --------
    >>> _section([(0.0, 0.0), (360.0, 140.0)])
    (0.0, 0.0, 360.0, 140.0)
    """
    if not spots:
        return 0.0, 0.0, _WIDTH, _HEIGHT
    xs, ys = [x for x, _ in spots], [y for _, y in spots]
    wanted = max(max(ys) - min(ys), (max(xs) - min(xs)) * _HEIGHT / _WIDTH) * 1.4
    height = min(max(wanted, _MIN_HEIGHT), _HEIGHT)
    width = height * _WIDTH / _HEIGHT
    left = min(max((max(xs) + min(xs) - width) / 2, 0.0), _WIDTH - width)
    top = min(max((max(ys) + min(ys) - height) / 2, 0.0), _HEIGHT - height)
    return left, top, width, height


def _dot(spot: _Spot, unit: float) -> Markup:
    radius = min(3.0 + 1.5 * sqrt(spot.weight), 12.0) * unit
    dot = element("circle", element("title", spot.name), cx=spot.x, cy=spot.y, r=radius, stroke_width=unit)
    return element("a", dot, href=spot.url, aria_label=spot.name) if spot.url else dot


def _labels(spots: Sequence[_Spot], unit: float, right: float) -> list[Markup]:
    """Place names beside their dots where there is room; names that would overlap are omitted."""
    taken: list[tuple[float, float, float]] = []
    drawn = []
    for x, y, name, *_ in sorted(spots, key=lambda spot: -spot.weight):
        length, gap = 7 * unit * len(name), 8 * unit
        start = x + gap if x + gap + length < right else x - gap - length
        if all(abs(y - row) > 12 * unit or start + length < a or b < start for row, a, b in taken):
            taken.append((y, start, start + length))
            anchor, at = ("start", x + gap) if start > x else ("end", x - gap)
            drawn.append(element("text", name, x=at, y=y + 4 * unit, text_anchor=anchor))
    return drawn
