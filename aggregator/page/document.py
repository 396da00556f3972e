"""The whole page: its parts, which `static/page.js` brings up to date, and what stands around."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aggregator.overview.devices import MEANINGS
from aggregator.page.feed import Parts
from aggregator.page.parts import classes, devices, directions, growth, progress, refusals
from aggregator.page.parts import health as health_part
from aggregator.page.parts.common import name
from fsir.net.web.markup import Markup, joined, tag

_TITLE = "FSIR aggregator"
_ABOUT = (
    "This page loads nothing from elsewhere and changes nothing. It is brought up to date by "
    "itself, at most once a second while you look at it. It shows what `fsir-aggregator status` "
    "shows."
)
Part = Callable[[str, dict[str, Any]], list[Markup]]
# Of each task: the key of a part, its title, and who makes it.
_SECTIONS: tuple[tuple[str, str, Part], ...] = (
    ("growth", "The estimate as it grows", growth.growth),
    ("progress", "How far it is", progress.progress),
    ("classes", "Where classes lie", classes.classes),
    ("strengths", "How far it stands out from the noise", directions.strengths),
    ("directions", "What was learned", directions.directions),
    ("devices", "Devices", devices.devices),
    ("refusals", "Refused messages", refusals.refusals),
    ("versions", "Versions", growth.versions),
)


def parts(found: Mapping[str, Any]) -> Parts:
    """The HTML of every part, from an overview (`Daemon.overview`)."""
    made = {"health": joined(health_part.health(found["health"]))}
    if len(found["tasks"]) > 1:
        made["contents"] = _contents(found["tasks"])
    for k, entry in enumerate(found["tasks"]):
        place = f"task{k}"
        made[f"{place}-title"] = joined([name(entry["task"]), _edition(entry)])
        made[f"{place}-headline"] = joined(progress.headline(f"{place}-headline", entry))
        for key, _, part in _SECTIONS:
            made[f"{place}-{key}"] = joined(part(f"{place}-{key}", entry))
    return dict(made)


def _edition(entry: Mapping[str, Any]) -> Markup:
    words = f" epoch {entry['epoch']}, digest {entry['digest'][:16]}"
    return tag("span", words, class_="quiet small")


def alarm(text: str) -> Parts:
    """The part that says why the others are old."""
    return {"alarm": joined(health_part.alarm(text))}


def page(made: Parts, shape: str) -> str:
    """The document around parts."""
    tasks = [key.removesuffix("-headline") for key in made if key.endswith("-headline")]
    header = tag(
        "header",
        tag("h1", _TITLE),
        _live(made, "health", class_="chips", role="group", aria_label="Health"),
        _live(made, "alarm"),
    )
    articles = [_task(made, place) for place in tasks]
    ways = None
    if "contents" in made:
        ways = _live(made, "contents", element="nav", aria_label="Tasks")
    return document(_TITLE, header, ways, tag("main", *articles), shape=shape)


def _contents(tasks: Sequence[Mapping[str, Any]]) -> Markup:
    """Where there are several tasks, the way to each."""
    ways = (tag("a", name(entry["task"]), href=f"#task{k}") for k, entry in enumerate(tasks))
    return tag("ul", *(tag("li", way) for way in ways))


def _task(made: Parts, place: str) -> Markup:
    sections = [
        tag(
            "section",
            tag("h3", title, id=f"{place}-{key}-heading"),
            _live(made, f"{place}-{key}"),
            class_=key,
            aria_labelledby=f"{place}-{key}-heading",
        )
        for key, title, _ in _SECTIONS
    ]
    return tag(
        "article",
        tag("h2", "Task ", _live(made, f"{place}-title", element="span")),
        _live(made, f"{place}-headline", aria_live="polite"),
        tag("div", *sections, class_="sections"),
        id=place,
    )


def _live(made: Parts, key: str, element: str = "div", **attributes: str) -> Markup:
    """What is brought up to date as a whole."""
    return tag(element, Markup(made.get(key, "")), id=key, data_live=True, **attributes)


def document(title: str, *body: Markup | None, shape: str = "") -> str:
    """A document with our style, and with our script where something is brought up to date."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("link", rel="icon", href="/icon.svg"),
        tag("link", rel="stylesheet", href="/page.css"),
        tag("script", src="/page.js", defer=True) if shape else None,
    )
    notice = tag("p", id="notice", role="alert", hidden=True)
    foot = tag("footer", tag("p", _ABOUT))
    inner = tag("body", notice, *body, foot, data_shape=shape or None)
    return f'<!doctype html><html lang="en">{head}{inner}</html>'


def names(task: str, found: Mapping[str, Any]) -> str:
    """The page with the names of devices in one state."""
    state = found["state"]
    title = f"{state.capitalize()} devices"
    items = [tag("li", name(device)) for device in found["names"]]
    listed = tag("ul", *items, class_="names") if items else tag("p", "There are none.")
    more = None
    if found["next"] is not None:
        more = tag("p", tag("a", "More names", href=devices.address(task, state, found["next"])))
    return document(
        title,
        tag("header", tag("h1", title, " of ", name(task))),
        tag("main", tag("section", tag("p", MEANINGS[state], class_="quiet"), listed, more)),
        tag("p", tag("a", "Back to the page", href="/")),
    )
