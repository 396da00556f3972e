"""The learned directions as bars, and how far they stand out from the noise."""

from __future__ import annotations

from typing import Any

from aggregator.overview.picture import LARGEST
from aggregator.page.parts.common import figure, name, number, picture, quiet, table
from aggregator.page.terms import term
from fsir.net.web.markup import Markup, tag

MOST_DIRECTIONS = 4
MOST_VALUES = 12
_WIDTH = 200.0
_HEIGHT = 16.0
_BAR = 9.0  # how thick one is
Entry = dict[str, Any]


def directions(place: str, entry: Entry) -> list[Markup]:
    """The largest loadings of each direction, with their uncertainty."""
    found = entry["directions"]
    if found is None:
        return [quiet("Nothing was learned yet.")]
    loadings = found["loadings"][:MOST_DIRECTIONS]
    shown = [_direction(place, k, row, found) for k, row in enumerate(loadings)]
    more = len(found["loadings"]) - len(loadings)
    several = "directions are" if more > 1 else "direction is"
    rest = [quiet(f"{more} more {several} not drawn.")] if more else []
    return [_key(place, found), tag("div", *shown, class_="pair"), *rest]


def _key(place: str, found: Entry) -> Markup:
    sure = ["the thin line is their ", term(place, "uncertainty")]
    if found["bars"] is None:
        sure = [found["bar_means"]]
    return tag(
        "p",
        "The ",
        term(place, "subspace"),
        " is made of these directions. Each ",
        term(place, "direction"),
        " is a weighted sum of features. Bars are ",
        term(place, "loading", "loadings"),
        ", to the right if positive; ",
        *sure,
        ".",
        class_="quiet",
    )


def _direction(place: str, k: int, row: list[float], found: Entry) -> Markup:
    order = sorted(range(len(row)), key=lambda j: -abs(row[j]))
    chosen = order[:LARGEST]
    left = len(order) - len(chosen) + found["left_out"]
    bars = found["bars"] or [0.0] * len(row)
    reach = max((abs(row[j]) + bars[j] for j in chosen), default=1.0) or 1.0
    lines = [
        (
            name(found["features"][j]),
            _bar(row[j], bars[j], reach),
            tag(
                "span",
                figure(f"directions.loadings.{k}.{j}", row[j], f"{row[j]:+.2f}"),
                f" ± {bars[j]:.2f}" if found["bars"] else None,
            ),
        )
        for j in chosen
    ]
    rest = f"; {left} with smaller loadings are not drawn" if left else ""
    caption = f"Direction {k + 1}: the largest loadings{rest}"
    return table(caption, ("Feature", "Picture", "Loading"), lines)


def _bar(value: float, bar: float, reach: float) -> Markup:
    """From the middle to the value, with a line as long as the uncertainty to both sides."""
    middle = _WIDTH / 2
    end = middle + value / reach * middle
    half = bar / reach * middle
    low = max(0.0, end - half)
    high = min(_WIDTH, end + half)
    y = number(_HEIGHT / 2)
    doubtful = abs(value) < bar
    return picture(
        f"{value:+.2f}",
        _WIDTH,
        _HEIGHT,
        tag("line", x1=middle, x2=middle, y1=0, y2=_HEIGHT, class_="grid"),
        tag(
            "rect",
            x=number(min(middle, end)),
            y=number((_HEIGHT - _BAR) / 2),
            width=number(max(0.5, abs(end - middle))),
            height=_BAR,
            class_="bar doubtful" if doubtful else "bar",
        ),
        tag("line", x1=number(low), x2=number(high), y1=y, y2=y, class_="whisker") if bar else None,
        style="bars",
    )


def strengths(place: str, entry: Entry) -> list[Markup]:
    """Singular values beside the noise."""
    found = entry["subspace"]
    if found is None:
        return [quiet("Nothing was learned yet.")]
    values = found["singular_values"]
    noise = found["noise_level"]
    shown = values[:MOST_VALUES]
    reach = 1.05 * max([*shown, noise]) or 1.0
    left = len(values) - len(shown)
    caption = f"{found['dimension']} kept" + (
        f"; {left} smaller ones are not drawn" if left else ""
    )
    lines = [
        (
            str(k + 1),
            _strength(value, noise, reach),
            figure(f"subspace.singular_values.{k}", value, f"{value:.3g}"),
            "kept" if k < found["dimension"] else "left out",
        )
        for k, value in enumerate(shown)
    ]
    header = (term(place, "singular value", "Number"), "Picture", "Size", "Use")
    level = figure("subspace.noise_level", noise, f"{noise:.3g}")
    about = tag("p", "The upright line is the ", term(place, "noise"), ": ", level, class_="quiet")
    return [about, table(caption, header, lines)]


def _strength(value: float, noise: float, reach: float) -> Markup:
    at = number(noise / reach * _WIDTH)
    stands_out = value > noise
    return picture(
        f"{value:.3g}, {'above' if stands_out else 'not above'} the noise",
        _WIDTH,
        _HEIGHT,
        tag(
            "rect",
            x=0,
            y=number((_HEIGHT - _BAR) / 2),
            width=number(max(0.5, value / reach * _WIDTH)),
            height=_BAR,
            class_="bar" if stands_out else "bar doubtful",
        ),
        tag("line", x1=at, x2=at, y1=0, y2=_HEIGHT, class_="whisker"),
        style="bars",
    )
