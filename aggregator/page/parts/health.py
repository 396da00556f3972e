"""Whether the aggregator can do its work: broker, store, and the reading of this page."""

from __future__ import annotations

from typing import Any

from aggregator.page.parts.common import clock, words
from aggregator.page.terms import term
from fsir.net.web.markup import Markup, tag

Entry = dict[str, Any]


def health(found: Entry) -> list[Markup]:
    """One line about the broker, one about the store, and what else is wrong."""
    broker = term("health", "broker", "Broker")
    store = term("health", "store", "Store")
    since = [" since ", clock(found["since"])] if found.get("since") else []
    if found["connected"]:
        told = [broker, ": connected", *since]
    else:
        told = [broker, ": no connection", *since, ": ", words(found["broker"])]
    lines = [tag("p", *told, class_="chip good" if found["connected"] else "chip bad")]
    if found["store"] == "ok":
        lines.append(tag("p", store, ": takes reports", class_="chip good"))
    else:
        trouble = words(found["store"])
        lines.append(tag("p", store, ": cannot be written: ", trouble, class_="chip bad"))
    if (share := found.get("share", "ok")) != "ok":
        lines.append(tag("p", broker, ": ", words(share), class_="chip bad"))
    if not found["turning"]:
        lines.append(tag("p", "The aggregator hangs: its loop does not turn", class_="chip bad"))
    return lines


def alarm(text: str) -> list[Markup]:
    """What keeps this page from being up to date."""
    if not text:
        return []
    return [tag("p", "The figures below are old: ", words(text), class_="chip bad")]
