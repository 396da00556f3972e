"""What happens right now: the answer to the latest record, and where the latest ones lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from edge_agent.page.live import Live
from edge_agent.page.look import Look
from edge_agent.page.parts.common import colour, number
from fsir.net.web.markup import Markup, joined, tag

_WHO = {"device": "the classifier of this device", "federation": "the federation's classifier"}
_WIDTH = 320.0  # of the picture
_HEIGHT = 220.0
_MARGIN = 12.0
Served = dict[str, Any]


def answers(look: Look, live: Live) -> list[Markup]:
    """What the owner is doing, as far as the device knows."""
    if live.trouble:
        return [tag("p", f"No live view: {live.trouble}.", class_="quiet")]
    latest = _latest(look, live)
    if not latest:
        return [tag("p", _silence(look), class_="quiet")]
    return [_answer(look, name, served) for name, served in latest.items()]


def _latest(look: Look, live: Live) -> dict[str, Served]:
    """The latest record of each task."""
    if live.trouble:
        return {}
    known = {name: served for name, served in live.records.items() if name in look.tasks}
    return {name: served[-1] for name, served in known.items() if served}


def _silence(look: Look) -> str:
    if any(entry.get("subspace") for entry in look.entries):
        return "The next record shows here as soon as it comes."
    return "What a record means can be told once the federation has published its subspace."


def _answer(look: Look, name: str, served: Served) -> Markup:
    which = tag("span", f"{name}: ", class_="quiet") if len(look.tasks) > 1 else None
    said = _said(served)
    if said is None:
        # A task about a number has no classes, and a class that is in doubt is not said.
        return tag("p", which, served.get("doubt") or "There is no class to tell.", class_="quiet")
    return tag("p", which, tag("strong", said, class_="answer"))


def certainty(look: Look, live: Live) -> list[Markup]:
    """How sure the answers are, and who gives them; apart, because it changes all the time."""
    words = [_certainty(served) for served in _latest(look, live).values()]
    return [tag("p", line, class_="quiet") for line in words if line]


def _certainty(served: Served) -> str:
    confidence = served.get("confidence")
    if _said(served) is None or not isinstance(confidence, int | float):
        return ""
    share = "more than 99%" if confidence > 0.995 else f"{confidence:.0%}"
    return f"{share} sure, says {_WHO.get(served.get('by', 'federation'), 'the agent')}"


def _said(served: Served) -> str | None:
    """What a record was taken for."""
    answer = served.get("answer")
    return None if answer is None else str(answer)


# --- the picture ----------------------------------------------------------------------------------


def scatter(look: Look, live: Live) -> list[Markup]:
    """The latest records of each task as points."""
    return [
        part
        for name, served in live.records.items()
        if served and name in look.tasks
        for part in _figure(list(served), look.tasks[name].response.classes)
    ]


def _figure(served: Sequence[Served], classes: Sequence[str]) -> list[Markup]:
    picture = _picture(served, classes)
    if not picture:
        return []
    met = {_said(one) for one in served}
    legend = [
        tag("li", tag("i", class_=colour(k)), label)
        for k, label in enumerate(classes)
        if label in met
    ]
    return [
        tag("figure", picture, tag("figcaption", _caption(served))),
        tag("ul", *legend, class_="legend") if legend else Markup(),
    ]


def _caption(served: Sequence[Served]) -> str:
    numbers = len(served[-1].get("z") or [])
    what = "one number, from left to right" if numbers == 1 else f"{numbers} numbers"
    more = ", of which the first two are shown" if numbers > 2 else ""
    lowest = " and lowest" if numbers == 1 else ""
    return (
        f"The last {len(served)} records, each reduced to {what}{more}. The newest is "
        f"ringed{lowest}. Nobody but you gets them."
    )


def _picture(served: Sequence[Served], classes: Sequence[str]) -> Markup:
    """Records on the first two directions, the newest last and on top.

    With one direction, records stand one below the other, the newest at the bottom.
    """
    points = [point for row, one in enumerate(served) if (point := _point(one, row)) is not None]
    if not points:
        return Markup()
    xs = _span([x for x, _, _ in points])
    ys = _span([y for _, y, _ in points])
    order = {label: k for k, label in enumerate(classes)}
    dots = []
    for age, (x, y, said) in enumerate(points, 1):
        newest = age == len(points)
        style = colour(order[said]) if said in order else "unknown"
        dot = tag(
            "circle",
            cx=number(_MARGIN + _share(x, xs) * (_WIDTH - 2 * _MARGIN)),
            cy=number(_HEIGHT - _MARGIN - _share(y, ys) * (_HEIGHT - 2 * _MARGIN)),
            r=7 if newest else 4,
            class_=f"{style} newest" if newest else style,
            fill_opacity=number(0.3 + 0.7 * age / len(points)),
        )
        dots.append(dot)
    latest = points[-1][2] or "without an answer"
    return tag(
        "svg",
        joined(dots),
        class_="records",
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        role="img",
        aria_label=f"The last {len(points)} records as points; the newest is {latest}.",
    )


def _point(served: Served, row: int) -> tuple[float, float, str | None] | None:
    z = served.get("z")
    if not isinstance(z, list) or not z:
        return None
    place = (z[0], z[1] if len(z) > 1 else -row)
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in place):
        return None
    return float(place[0]), float(place[1]), _said(served)


def _span(values: Sequence[float]) -> tuple[float, float]:
    """A range around values whose ends move seldom, so that the picture stands still.

    >>> _span([0.9, 3.2]), _span([2.0, 2.0])
    ((0.0, 4.0), (1.0, 3.0))
    """
    low = min(values)
    high = max(values)
    if not high > low:
        reach = max(1.0, abs(low) * 1e-6)
        return low - reach, high + reach
    step = 2.0 ** math.floor(math.log2(high - low) - 1)
    return step * math.floor(low / step - 0.25), step * math.ceil(high / step + 0.25)


def _share(value: float, span: tuple[float, float]) -> float:
    return (value - span[0]) / (span[1] - span[0])
