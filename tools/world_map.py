"""Draw the outlines of land and borders that the maps of the pages show.

``python tools/world_map.py land-110m.json countries-110m.json`` writes ``world.svg`` from files of the npm
package world-atlas 2.0.2 (ISC), which are Natural Earth 1:110 million (public domain) as TopoJSON.
"""

import json
import sys
from collections import Counter
from itertools import accumulate, pairwise
from pathlib import Path

OUTPUT = Path(__file__).parents[1] / "src/isogloss/service/web/drawing/world.svg"
WEST, NORTH, SOUTH = -180.0, 80.0, -60.0
"""Edges of the map that are the origin and the lower end of its coordinates, in degrees."""

SCALE = 10
"""Units per degree."""

NOTE = "Made with Natural Earth (naturalearthdata.com, public domain) by tools/world_map.py."


def main() -> None:
    """Write the outlines."""
    land, countries = (json.loads(Path(name).read_text("utf-8")) for name in sys.argv[1:3])
    rings = [ring for polygon in polygons(land["objects"]["land"]) for ring in polygon]
    lines = arcs(land)
    coasts = [copy for ring in rings for copy in copies(join(lines, ring)) if is_shown(copy)]
    coast = "".join(path(line) + "z" for line in coasts)
    uses = Counter(
        arc if arc >= 0 else ~arc
        for polygon in polygons(countries["objects"]["countries"])
        for ring in polygon
        for arc in ring
    )
    shared = [line for number, line in enumerate(arcs(countries)) if uses[number] == 2]
    borders = "".join(path(copy) for line in shared for copy in copies(line) if is_shown(copy))
    size = f"0 0 {360 * SCALE} {round(NORTH - SOUTH) * SCALE}"
    OUTPUT.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}"><!-- {NOTE} -->\n'
        f'<path id="land" d="{coast}"/>\n<path id="borders" fill="none" d="{borders}"/>\n</svg>\n',
        "utf-8",
    )


def polygons(geometry: dict) -> list[list[list[int]]]:
    """Return the polygons of a geometry, each as rings of numbers of arcs."""
    if geometry["type"] == "GeometryCollection":
        return [polygon for each in geometry["geometries"] for polygon in polygons(each)]
    return [geometry["arcs"]] if geometry["type"] == "Polygon" else geometry["arcs"]


def arcs(topology: dict) -> list[list[tuple[int, int]]]:
    """Return all arcs in the coordinates of the map, without repeated points."""
    (a, b), (c, d) = topology["transform"]["scale"], topology["transform"]["translate"]
    found = []
    for arc in topology["arcs"]:
        places = accumulate(arc, lambda one, step: (one[0] + step[0], one[1] + step[1]))
        line = [(round((x * a + c - WEST) * SCALE), round((NORTH - y * b - d) * SCALE)) for x, y in places]
        found.append([one for one, before in zip(line, [None, *line], strict=False) if one != before])
    return found


def join(lines: list[list[tuple[int, int]]], ring: list[int]) -> list[tuple[int, int]]:
    """Return the points of a ring, each arc of which begins where the one before ends."""
    parts = [lines[arc] if arc >= 0 else lines[~arc][::-1] for arc in ring]
    return [*parts[0], *(point for part in parts[1:] for point in part[1:])]


def copies(line: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return a line without jumps at the date line, once for each edge of the map that it reaches."""
    world, offset, whole = 360 * SCALE, 0, line[:1]
    for (x, _), (q, s) in pairwise(line):
        offset += world * ((q - x < -world / 2) - (q - x > world / 2))
        whole.append((q + offset, s))
    left, right = min(x for x, _ in whole), max(x for x, _ in whole)
    shifts = [shift for shift in (-world, 0, world) if left + shift < world and right + shift > 0]
    return [[(x + shift, y) for x, y in whole] for shift in shifts]


def is_shown(line: list[tuple[int, int]]) -> bool:
    """Return whether a line reaches the part of the world that is shown, which ends before Antarctica."""
    return any(y < (NORTH - SOUTH) * SCALE for _, y in line)


def path(line: list[tuple[int, int]]) -> str:
    """Return a line as the data of an SVG path, relative and as short as possible."""
    steps = [f"{q - x} {s - y}" for (x, y), (q, s) in pairwise(line)]
    return f"M{line[0][0]} {line[0][1]}l{' '.join(steps)}".replace(" -", "-")


if __name__ == "__main__":
    main()
