"""Pictures: sound XML, in proportion, and nothing that a browser would run."""

import re
import xml.etree.ElementTree as ET
from datetime import date, timedelta
from itertools import accumulate

import pytest

pytest.importorskip("markupsafe")

from isogloss.service.web.drawing import (
    alignment_diagram,
    bars,
    curve,
    event_map,
    sparkline,
    timeline,
    world_map_svg,
)
from tests.browser.newsroom import HOSTILE

DAYS = [("2025-03-05", 1), ("2025-03-07", 4)]
PLACE = {"name": "Bergen", "latitude": 60.39, "longitude": 5.32, "count": 4}
PICTURES = {
    "sparkline": sparkline(DAYS, HOSTILE),
    "no days": sparkline([]),
    "timeline": timeline(DAYS, {"en": [(20_152.2, 20_154.1, 5)]}, {"en": HOSTILE}),
    "bars": bars({HOSTILE: 2.0, "b": -1.0}, HOSTILE),
    "no bars": bars({}, "nothing"),
    "curve": curve([1.0, float("nan"), 2.0], HOSTILE),
    "no curve": curve([], "nothing"),
    "crossing": alignment_diagram([HOSTILE, "b"], ["c"], [(0, 0)], langs=("en", HOSTILE)),
    "map": event_map([PLACE | {"name": HOSTILE}], "/map.svg"),
    "no map": event_map([], "/map.svg"),
    "world": world_map_svg(),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_sound_and_harmless(name):
    root = ET.fromstring(PICTURES[name])
    for element in root.iter():
        assert element.tag.rpartition("}")[2] not in ("script", "style", "foreignObject", "a", "img")
        assert not [key for key in element.attrib if key.startswith("on") or key == "style"]
    assert name == "world" or root.attrib["aria-label"]


def test_columns_are_in_proportion():
    heights = re.findall(r"M[\d.]+ 12v-([\d.]+)h", sparkline(DAYS))
    assert [float(height) for height in heights] == [3.0, 12.0]


def test_many_days_are_put_together_and_none_is_lost():
    first, last = date(2020, 1, 1), date(2020, 1, 1) + timedelta(days=999)
    days = [((first + timedelta(days=i)).isoformat(), 1) for i in range(9)] + [(last.isoformat(), 3)]
    drawn = ET.fromstring(sparkline(days))
    assert float(drawn.attrib["viewBox"].split()[2]) <= 3 * 120
    heights = [float(height) for height in re.findall(r"v-([\d.]+)h", drawn[0].attrib["d"])]
    assert heights == [12.0, 4.0]


def test_clusters_lie_at_their_times():
    drawn = ET.fromstring(timeline(DAYS, {"en": [(20_152.0, 20_153.5, 5)]}, {}))
    span = next(line for line in drawn.iter("line") if line.attrib["class"] == "span")
    assert float(span.attrib["x1"]) == pytest.approx(104)
    assert float(span.attrib["x2"]) == pytest.approx(104 + 350 / 2)


def test_bars_begin_at_one_line():
    drawn = ET.fromstring(bars({"for": 3.0, "against": -1.0}, "why"))
    plus, minus = drawn.iter("rect")
    axis = float(drawn.find("line").attrib["x1"])
    assert float(plus.attrib["x"]) == pytest.approx(axis)
    assert float(minus.attrib["x"]) + float(minus.attrib["width"]) == pytest.approx(axis)
    assert float(plus.attrib["width"]) == pytest.approx(3 * float(minus.attrib["width"]))


@pytest.mark.parametrize(
    ("latitude", "longitude"), [(60.39, 5.32), (-33.4, -70.6), (35.7, 139.7), (-89, 180), (89, -180)]
)
def test_places_are_on_the_part_of_the_map_that_is_shown(latitude, longitude):
    drawn = ET.fromstring(event_map([PLACE | {"latitude": latitude, "longitude": longitude}], "/map.svg"))
    x, y, width, height = map(float, drawn.attrib["viewBox"].split())
    dot = drawn.find("circle").attrib
    assert x <= float(dot["cx"]) <= x + width
    assert y <= float(dot["cy"]) <= y + height
    assert 0 <= x <= 360 - width + 0.01
    assert 0 <= y <= 140 - height + 0.01


def test_north_is_up_and_east_is_right():
    there = [PLACE | {"name": "north-east", "latitude": 50, "longitude": 40}]
    here = [PLACE | {"name": "south-west", "latitude": 10, "longitude": -20}]
    one, other = (dot.attrib for dot in ET.fromstring(event_map(there + here, "/map.svg")).iter("circle"))
    assert float(one["cx"]) > float(other["cx"])
    assert float(one["cy"]) < float(other["cy"])


def test_places_without_a_position_are_left_out():
    drawn = event_map([{"name": "Atlantis"}, PLACE | {"latitude": float("nan")}], "/map.svg")
    assert "<circle" not in drawn


def test_names_do_not_cover_each_other():
    near = [PLACE | {"name": f"City {i}", "latitude": 60 + i / 100} for i in range(5)]
    assert event_map(near, "/map.svg").count("<text") == 1


def _inside(point, rings):
    """Whether a point is inside of an odd number of rings."""
    x, y = point
    crossings = [
        (a[1] > y) != (b[1] > y) and x < (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]) + a[0]
        for ring in rings
        for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)
    ]
    return sum(crossings) % 2 == 1


def _outline(name):
    """The lines of a path of the world map, as points in degrees from its upper left corner."""
    (path,) = (each for each in ET.fromstring(world_map_svg()) if each.attrib.get("id") == name)
    lines = []
    for part in path.attrib["d"].split("M")[1:]:
        (start, steps) = part.rstrip("z").split("l")
        numbers = [int(n) for text in (start, steps) for n in re.findall(r"-?\d+", text)]
        xs, ys = (list(accumulate(numbers[side::2])) for side in (0, 1))
        lines.append([(x / 10, y / 10) for x, y in zip(xs, ys, strict=True)])
    return lines


@pytest.mark.parametrize(
    ("latitude", "longitude", "is_land"),
    [
        (48.9, 2.4, True),  # Paris
        (-25, 135, True),  # Australia
        (65, -18, True),  # Iceland
        (40, -40, False),  # the Atlantic
        (35, 18, False),  # the Mediterranean
        (42, 50.5, False),  # the Caspian Sea, a hole
        (75, -40, True),  # Greenland
        (75, -5, False),  # the sea east of it, where Russia would be if its line jumped at the date line
        (67, 179, True),  # the Chukchi Peninsula on both sides of the date line
        (67, -178, True),
    ],
)
def test_the_world_has_land(latitude, longitude, is_land):
    assert _inside((longitude + 180, 80 - latitude), _outline("land")) == is_land


def test_the_world_has_borders():
    """One follows the 49th parallel."""
    along = [[x for x, y in line if abs(y - 31) < 0.3] for line in _outline("borders")]
    assert max(max(xs) - min(xs) for xs in along if xs) > 20


def test_the_outlines_are_small():
    assert len(world_map_svg()) < 50_000


def test_dots_lead_to_what_places_link_to():
    drawn = ET.fromstring(event_map([PLACE | {"url": "/place/7?a=1&b"}, PLACE], "/map.svg"))
    (link,) = drawn.iter("a")
    assert link.attrib["href"] == "/place/7?a=1&b"
    assert link.find("circle") is not None
    assert len(list(drawn.iter("circle"))) == 2


def test_a_burst_of_one_day_is_short_beside_a_story_of_a_week():
    one = ET.fromstring(sparkline([("2025-03-07", 4)]))
    assert float(one.attrib["viewBox"].split()[2]) == 3 * 14
    assert re.match(r"M39\.5 12v-12h2", one[0].attrib["d"])


def test_what_speaks_against_is_written_on_its_own_side():
    drawn = ET.fromstring(bars({"for": 3.0, "against": -1.0}, "why"))
    minus = list(drawn.iter("rect"))[1].attrib
    said = next(text for text in drawn.iter("text") if text.text == "-1.00").attrib
    name = next(text for text in drawn.iter("text") if text.text == "against").attrib
    assert float(name["x"]) < float(said["x"]) - 30
    assert float(said["x"]) < float(minus["x"])
    assert said["text-anchor"] == "end"


def test_curves_are_drawn_where_they_were_measured():
    drawn = curve([0.5, 0.6, 0.7], "mrr", [10, 20, 50], "documents")
    xs = [
        float(x)
        for x in re.findall(r"[ML]([\d.]+) [\d.]+", re.search(r'd="(M[^"]+)" class="line"', drawn)[1])
    ]
    assert xs == [56, 136, 376]
    assert "documents 10" in drawn
