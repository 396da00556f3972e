"""How far a task is: the headline, and the numbers under it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aggregator.overview.words import rate_text, span_text
from aggregator.page.parts.common import clock, figure, name, words
from aggregator.page.terms import term
from fsir.net.web.markup import Markup, tag

_SOURCES = {
    "roster": "on the roster",
    "--expect": "expected",
    "quorum": "that screening needs",
    "screening": "that were screened",
}
_LAST = 2  # rounds whose devices are told
Entry = dict[str, Any]


def headline(place: str, entry: Entry) -> list[Markup]:
    """Counted of expected, in one large line; a screen reader says it when it changes."""
    progress = entry["progress"]
    expected = progress["expected"]
    counted = figure("progress.counted", progress["counted"])
    done = term(place, "counted")
    if expected is None:
        return [tag("p", tag("strong", counted), " devices ", done, class_="headline")]
    listed = progress["expected_from"] == "roster"
    if listed:  # who is not on it takes nobody's place
        counted = figure("progress.expected_counted", progress["expected_counted"])
    source = _SOURCES.get(progress["expected_from"], "expected")
    target = figure("progress.expected", expected)
    shown = tag("strong", counted, " of ", target)
    others = _unlisted(entry) if listed else []
    return [tag("p", shown, f" devices {source} ", done, *others, class_="headline")]


def _unlisted(entry: Entry) -> list[object]:
    """Those who are counted although nobody has expected them."""
    count = entry["devices"]["unlisted"]
    return [", and ", figure("devices.unlisted", count), " not on it"] if count else []


def progress(place: str, entry: Entry) -> list[Markup]:
    """The bar, the rate, the time to go, the stages, and what the task waits for."""
    return [*_bar(entry), tag("dl", *_facts(place, entry))]


def _bar(entry: Entry) -> Iterator[Markup]:
    progress = entry["progress"]
    if progress["expected"]:
        there = progress["expected_counted"]
        label = f"{there} of {progress['expected']} devices have reported"
        yield tag("progress", value=there, max=progress["expected"], aria_label=label)


def _facts(place: str, entry: Entry) -> Iterator[Markup]:
    progress = entry["progress"]
    yield from _fact(
        term(place, "waits for", "Waits for"),
        tag("span", words(progress["waits_for"]["text"]), class_="strong"),
    )
    if progress["per_hour"] is not None:
        over = f"{rate_text(progress['per_hour'])} an hour ({progress['per_hour_over']})"
        yield from _fact(term(place, "rate", "Rate"), over)
    if progress["to_go_seconds"]:
        yield from _fact("Time to go", f"about {span_text(progress['to_go_seconds'])}")
    if progress["last_at"] is not None:
        yield from _fact("Last report", clock(progress["last_at"]))
    if "rounds" in entry:
        yield from _fact(term(place, "round", "Round"), *_round(entry["rounds"]))
    for stage, count in entry["stages"].items():
        told = (
            figure(f"stages.{stage}.devices", count["devices"]),
            " devices, ",
            figure(f"stages.{stage}.records", count["records"], f"{count['records']:,}"),
            " ",
            term(f"{place}-{stage}", "records"),
        )
        title = term(f"{place}-{stage}", "stage", f"{stage.capitalize()} stage")
        yield from _fact(title, *told)
    if entry["active"] is not None:
        yield from _fact(term(place, "active set", "Active set"), _active(place, entry["active"]))


def _round(found: Entry) -> list[object]:
    current = figure("rounds.current", found["current"])
    newest = found["counted"][: -_LAST - 1 : -1]
    devices = [f"; {row['devices']} devices in round {row['round']}" for row in newest]
    return [tag("strong", current), " of ", figure("rounds.of", found["of"]), *devices]


def _active(place: str, features: list[str]) -> Markup:
    count = f"{len(features)} feature{'' if len(features) == 1 else 's'}"
    items = (tag("li", name(feature)) for feature in features)
    return tag(
        "details",
        tag("summary", count, id=f"{place}-active-summary"),
        tag("ul", *items, class_="names"),
        id=f"{place}-active",
    )


def _fact(title: object, *told: object) -> Iterator[Markup]:
    yield tag("dt", title)
    yield tag("dd", *told)
