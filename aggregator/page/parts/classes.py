"""Where classes lie in the first two directions, and how widely their records scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from aggregator.page.parts.common import colour, name, number, picture, quiet
from aggregator.page.terms import term
from fsir.net.web.markup import Markup, tag

_WIDTH = 340.0
_HEIGHT = 240.0
_MARGIN = 14.0
_ROW = 28.0  # of one class, where there is one direction
_MOST_SPOKEN = 12  # classes, in the words for a screen reader
Entry = dict[str, Any]


def classes(place: str, entry: Entry) -> list[Markup]:
    """The picture and its legend; nothing for a task about a number."""
    found = entry["classes"]
    if found is None:
        nothing = entry["subspace"] is None
        why = "Nothing was learned yet." if nothing else "This task has no classes to draw."
        return [quiet(why)]
    drawn = _plane(found) if len(found["centres"][0]) > 1 else _line(found)
    about = tag("figcaption", *_about(place, found))
    return [tag("figure", drawn, about), _legend(place, found)]


def _about(place: str, found: Entry) -> list[object]:
    """How to read the picture."""
    flat = len(found["centres"][0]) > 1
    axes = "Direction 1 goes to the right" + (", direction 2 up. " if flat else ". ")
    told: list[object] = [axes, "Points are ", term(place, "class centre", "class centres")]
    if found["spread"] is not None:
        spread = term(place, "ellipse", "ellipse" if flat else "line")
        told += [", each ", spread, " is ", found["spread_means"]]
    return [*told, "."]


def _legend(place: str, found: Entry) -> Markup:
    items = []
    for k, label in enumerate(found["names"]):
        doubt = ", hardly reported" if label in found["doubtful"] else ""
        share = f" {found['shares'][k]:.0%}{doubt}"
        items.append(tag("li", tag("i", k + 1, class_=colour(k)), name(label), share))
    share = tag("p", "With the ", term(place, "share"), " of each class:", class_="quiet")
    return tag("div", share, tag("ul", *items, class_="legend"))


def _label(found: Entry) -> str:
    places = [
        f"{k + 1} at {', '.join(f'{value:.2g}' for value in centre)}"
        for k, centre in enumerate(found["centres"][:_MOST_SPOKEN])
    ]
    return f"Centres of {len(found['names'])} classes: {'; '.join(places)}"


def _plane(found: Entry) -> Markup:
    """Both axes have the same scale, so that distances are what they look like."""
    centres = found["centres"]
    spread = found["spread"] or {"axes": [0.0, 0.0], "angle_degrees": 0.0}
    long, short = spread["axes"]
    turn = math.radians(spread["angle_degrees"])
    reach_x = math.hypot(long * math.cos(turn), short * math.sin(turn))
    reach_y = math.hypot(long * math.sin(turn), short * math.cos(turn))
    left, right = _ends([x for x, _ in centres], reach_x)
    low, high = _ends([y for _, y in centres], reach_y)
    scale = min((_WIDTH - 2 * _MARGIN) / (right - left), (_HEIGHT - 2 * _MARGIN) / (high - low))

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            _WIDTH / 2 + (x - (left + right) / 2) * scale,
            _HEIGHT / 2 - (y - (low + high) / 2) * scale,
        )

    drawn = []
    for k, (x, y) in enumerate(centres):
        cx, cy = at(x, y)
        if found["spread"] is not None:
            drawn.append(
                tag(
                    "ellipse",
                    rx=number(max(0.5, long * scale)),
                    ry=number(max(0.5, short * scale)),
                    transform=f"translate({number(cx)} {number(cy)}) "
                    f"rotate({number(-spread['angle_degrees'])})",
                    class_=f"{colour(k)} spread",
                )
            )
    drawn += [dot for k, (x, y) in enumerate(centres) for dot in _dot(*at(x, y), k)]
    return picture(_label(found), _WIDTH, _HEIGHT, *drawn, style="plot classes")


def _line(found: Entry) -> Markup:
    """With one direction each class has a row of its own."""
    places = [row[0] for row in found["centres"]]
    half = found["spread"]["axes"][0] if found["spread"] is not None else 0.0
    left, right = _ends(places, half)
    scale = (_WIDTH - 2 * _MARGIN) / (right - left)
    height = _ROW * len(places) + _MARGIN
    drawn = []
    for k, place in enumerate(places):
        x = _MARGIN + (place - left) * scale
        y = _ROW * (k + 0.5) + _MARGIN / 2
        ends = {"x1": number(x - half * scale), "x2": number(x + half * scale)}
        drawn.append(tag("line", **ends, y1=number(y), y2=number(y), class_=f"{colour(k)} spread"))
        drawn += _dot(x, y, k)
    return picture(_label(found), _WIDTH, height, *drawn, style="plot classes")


def _dot(x: float, y: float, k: int) -> list[Markup]:
    return [
        tag("circle", cx=number(x), cy=number(y), r=8, class_=colour(k)),
        tag("text", k + 1, x=number(x), y=number(y + 4), text_anchor="middle", class_="on"),
    ]


def _ends(values: Sequence[float], reach: float) -> tuple[float, float]:
    low = min(values) - reach
    high = max(values) + reach
    return (low, high) if high > low else (low - 1.0, high + 1.0)
