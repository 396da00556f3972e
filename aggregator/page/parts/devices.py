"""Who has reported and who is missing."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from aggregator.overview.devices import MEANINGS
from aggregator.page.parts.common import colour, figure, name, number, picture, table
from aggregator.page.terms import term
from fsir.net.web.markup import Markup, tag

_WIDTH = 1000.0
_HEIGHT = 40.0
_GAP = 3.0
_COLOURS = {"reported": 2, "waiting": 4, "silent": 1, "withdrawn": 7, "unlisted": 3}
Entry = dict[str, Any]


def devices(place: str, entry: Entry) -> list[Markup]:
    """How many are in each state, as a bar and as a table, and the first names."""
    found = entry["devices"]
    counts = {state: found[state] for state in MEANINGS}
    # Who is unlisted has reported, too: in the bar everybody stands once.
    once = counts | {"reported": counts["reported"] - counts["unlisted"]}
    rows = [
        (
            tag("span", tag("i", class_=colour(_COLOURS[state])), state),
            _count(entry["task"], state, count),
            MEANINGS[state],
        )
        for state, count in counts.items()
    ]
    listed = figure("devices.roster", found["roster"])
    about = ("On the ", term(place, "roster"), ": ", listed)
    return [
        _bar(once),
        table(tag("span", *about), ("State", "Devices", "Meaning"), rows),
        *(_names(place, entry, state) for state in found["names"] if found["names"][state]),
    ]


def _count(task: str, state: str, count: int) -> Markup:
    """A link to the names, if there are any."""
    shown = figure(f"devices.{state}", count)
    if not count:
        return shown
    return tag(
        "a", shown, href=address(task, state), aria_label=f"names of {count} {state} devices"
    )


def address(task: str, state: str, after: str = "") -> str:
    """Of the page with the names."""
    fields = {"task": task, "state": state} | ({"after": after} if after else {})
    return f"/devices?{urlencode(fields)}"


def _bar(counts: dict[str, int]) -> Markup:
    total = sum(counts.values())
    if not total:
        return picture("No device is known yet", _WIDTH, _HEIGHT, style="shares")
    words = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    pieces = []
    at = 0.0
    for state, count in counts.items():
        if count:
            width = count / total * _WIDTH
            inner = number(max(_GAP, width - _GAP))
            style = colour(_COLOURS[state])
            pieces.append(tag("rect", x=number(at), y=0, width=inner, height=_HEIGHT, class_=style))
            at += width
    return picture(f"Devices: {words}", _WIDTH, _HEIGHT, *pieces, style="shares", stretch=True)


def _names(place: str, entry: Entry, state: str) -> Markup:
    found = entry["devices"]
    names = found["names"][state]
    more = found[state] - len(names)
    items = [tag("li", name(device)) for device in names]
    if more:
        items.append(tag("li", tag("a", f"and {more} more", href=address(entry["task"], state))))
    summary = tag("summary", f"{found[state]} {state}", id=f"{place}-{state}-summary")
    listed = tag("ul", *items, class_="names")
    return tag("details", summary, listed, id=f"{place}-{state}", open=True)
