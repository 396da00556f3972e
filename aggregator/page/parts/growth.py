"""How the estimate grows with the devices, and its versions."""

from __future__ import annotations

import math
from typing import Any

from aggregator.page.parts.common import clock, figure, quiet, table, words
from aggregator.page.parts.plot import curve
from aggregator.page.terms import term
from fsir.net.web.markup import Markup, tag

_SHOWN = 50  # versions in the table
Entry = dict[str, Any]


def growth(place: str, entry: Entry) -> list[Markup]:
    """The curves, and the figures at their ends."""
    if entry["subspace"] is None:
        return [quiet("There is no estimate yet.")]
    drawn = [_error(place, entry)]
    if entry["subspace"]["expected_accuracy"] is not None:
        drawn.append(_accuracy(place, entry))
    notes = [tag("p", "Note: ", words(note), class_="note") for note in entry["subspace"]["notes"]]
    return [tag("div", *drawn, class_="pair"), *_moved(place, entry), *notes]


def _moved(place: str, entry: Entry) -> list[Markup]:
    moved = entry.get("rounds", {}).get("moved")
    if moved is None:
        return []
    value = figure("rounds.moved", moved, f"{moved:.2g}")
    return [tag("p", term(place, "moved", "Moved"), " by ", value, " of its expected error")]


def _error(place: str, entry: Entry) -> Markup:
    subspace = entry["subspace"]
    error = subspace["expected_error"]
    ahead = entry["forecast"]
    told: list[object] = [
        term(place, "expected error", "Expected error"),
        " ",
        tag("strong", figure("subspace.expected_error", error, f"{error:.3g}")),
        " (0: exact, ",
        figure(
            "subspace.random_error", subspace["random_error"], f"{subspace['random_error']:.3g}"
        ),
        ": ",
        term(place, "nothing learned"),
        ")",
    ]
    if ahead is not None:
        value = ahead["expected_error"]
        told += [*_ahead(place, ahead), figure("forecast.expected_error", value, f"{value:.3g}")]
    return _figure(entry, "expected_error", "Expected error", told, level=subspace["random_error"])


def _accuracy(place: str, entry: Entry) -> Markup:
    value = entry["subspace"]["expected_accuracy"]
    ahead = entry["forecast"]
    told: list[object] = [
        term(place, "expected accuracy", "Expected accuracy"),
        " ",
        tag("strong", figure("subspace.expected_accuracy", value, f"{value:.1%}")),
        " for those who take no part",
    ]
    if ahead is not None and ahead["expected_accuracy"] is not None:
        more = ahead["expected_accuracy"]
        told += [
            *_ahead(f"{place}-accuracy", ahead),
            figure("forecast.expected_accuracy", more, f"{more:.1%}"),
        ]
    return _figure(entry, "expected_accuracy", "Expected accuracy", told, percent=True)


def _ahead(place: str, ahead: Entry) -> list[object]:
    devices = figure("forecast.devices", ahead["devices"])
    return ["; ", term(place, "forecast"), " with ", devices, " devices: "]


def _figure(entry: Entry, key: str, title: str, told: list[object], **how: Any) -> Markup:
    # Over rounds it is the same devices that report, again and again.
    along = "round" if "rounds" in entry else "devices"
    points = [
        (float(row[along]), float(row[key]))
        for row in entry["history"]
        if row[key] is not None and math.isfinite(row[key])
    ]
    ahead = _point(entry["forecast"], key) if along == "devices" else None
    if not points:
        return tag("p", *told)
    shape = ".1%" if how.get("percent") else ".3g"
    label = f"{title} against {along}: {points[-1][1]:{shape}} with {points[-1][0]:g}"
    if len(points) > 1:
        label += f", {points[0][1]:{shape}} with {points[0][0]:g} before"
    if ahead is not None:
        label += f", {ahead[1]:{shape}} expected with {ahead[0]:g}"
    drawn = curve(label, points, ahead, below=along, **how)
    return tag("figure", drawn, tag("figcaption", *told))


def _point(ahead: Entry | None, key: str) -> tuple[float, float] | None:
    if ahead is None or ahead[key] is None or not math.isfinite(ahead[key]):
        return None
    return float(ahead["devices"]), float(ahead[key])


def versions(place: str, entry: Entry) -> list[Markup]:
    """What was published, the newest first."""
    rows = entry["history"]
    if not rows:
        return [quiet("Nothing was published yet.")]
    shown = rows[: -_SHOWN - 1 : -1]
    older = shown[-1]["version"] - rows[0]["version"]  # of many, the history itself has but some
    caption = "The newest first" + (f"; {older} older ones are not listed" if older else "")
    header = (
        term(place, "version", "Version"),
        "Published",
        "Devices",
        "Error",
        term(place, "angle", "Turned by"),
    )
    lines = [
        (
            figure(f"history.{len(rows) - 1 - k}.version", row["version"]),
            clock(row["at"]),
            row["devices"],
            f"{row['expected_error']:.3g}",
            _angle(len(rows) - 1 - k, row["angle_degrees"]),
        )
        for k, row in enumerate(shown)
    ]
    framed = tag(
        "div",
        table(caption, header, lines),
        class_="frame",
        tabindex=0,
        id=f"{place}-frame",
        role="group",
        aria_label="Versions",
    )
    return [framed]


def _angle(index: int, angle: float | None) -> object:
    if angle is None:
        return "–"
    return figure(f"history.{index}.angle_degrees", angle, f"{angle:.2g}°")
