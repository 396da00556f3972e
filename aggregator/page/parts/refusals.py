"""What was refused, why, and what the latest of it said."""

from __future__ import annotations

from typing import Any

from aggregator.page.parts.common import clock, figure, name, quiet, table, words
from aggregator.page.terms import term
from aggregator.reasons import REASONS
from fsir.net.web.markup import Markup, escaped, tag

Entry = dict[str, Any]


def refusals(place: str, entry: Entry) -> list[Markup]:
    """Counts by reason, then the latest in words."""
    counts = entry["refused"]
    if not counts:
        return [tag("p", "Nothing was ", term(place, "refused"), ".")]
    rows = [
        (words(reason), _count(reason, count), REASONS.get(reason, "not known to this version"))
        for reason, count in sorted(counts.items(), key=lambda item: -item[1])
    ]
    caption = tag("span", term(place, "refused", "Refused"), " messages by reason")
    counted = table(caption, ("Reason", "Count", "Meaning"), rows)
    latest = [_latest(refusal) for refusal in entry["refusals"]]
    if not latest:
        return [counted, quiet("None of them is kept any more.")]
    heading = tag("h4", f"The latest {len(latest)}")
    return [counted, heading, tag("ul", *latest, class_="refusals")]


def _count(reason: str, count: int) -> Markup:
    return figure(f"refused.{reason}", count) if reason in REASONS else escaped(count)


def _latest(refusal: Entry) -> Markup:
    return tag(
        "li",
        clock(refusal["at"]),
        " ",
        tag("b", name(refusal["device"] or "unknown device")),
        ": ",
        words(refusal["text"]),
    )
