"""The whole page. Elements with `data-live` are brought up to date by `static/page.js`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edge_agent.consent.policy import Policy
from edge_agent.labels.timeline import Event
from edge_agent.page.live import NOT_RUNNING, Live
from edge_agent.page.look import Look
from edge_agent.page.pace import Pace
from edge_agent.page.parts import budget, given, labels, present
from fsir.net.web.markup import Markup, joined, tag

_ABOUT = (
    "This page comes from your device and loads nothing from elsewhere. It is brought up to date "
    "once a second while you look at it."
)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """All that a page is made of."""

    look: Look
    live: Live
    label: Event | None
    pace: Callable[[str], Pace]
    policy: Policy
    named: bool  # whether the owner has named the policy
    csrf: str
    now: float


def page(shown: Shown) -> str:
    """The document."""
    look = shown.look
    return document(
        look.device,
        tag(
            "header",
            tag("h1", look.device),
            part("agent", [_agent(shown.live)]),
        ),
        tag(
            "main",
            section(
                "now",
                "Right now",
                part("answer", present.answers(look, shown.live), aria_live="polite"),
                part("certainty", present.certainty(look, shown.live)),
                part("scatter", present.scatter(look, shown.live)),
            ),
            section(
                "doing",
                "What are you doing?",
                part("pressed", labels.pressed(shown.label), role="status"),
                part("buttons", labels.buttons(look, shown.label, shown.csrf)),
            ),
            part("held", _held(shown)),
            section(
                "given",
                "What is given away",
                part("tasks", given.tasks(look, shown.pace, shown.now)),
            ),
            section(
                "spent",
                "The budget",
                part("ledger", budget.ledger(look, shown.policy, shown.named)),
            ),
        ),
    )


def _agent(live: Live) -> Markup:
    if live.running:
        return tag("p", "The agent runs", class_="chip good")
    known = live.trouble == NOT_RUNNING
    words = "The agent does not run" if known else "Whether the agent runs is not known"
    return tag("p", words, class_="chip")


def _held(shown: Shown) -> list[Markup]:
    """The section is there only while something is held."""
    found = given.held(shown.look.entries, shown.csrf)
    return [section("holding", "Held back", *found)] if found else []


def trouble(words: str) -> str:
    """A page that can only say what is wrong."""
    return document("fsir-agent", tag("main", part("trouble", [tag("p", words, class_="alarm")])))


def document(title: str, *body: Markup) -> str:
    """A document with our style and script, and a line for what goes wrong in the browser."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title}: the owner's page"),
        tag("link", rel="icon", href="/icon.svg"),
        tag("link", rel="stylesheet", href="/page.css"),
        tag("script", src="/page.js", defer=True),
    )
    notice = tag("p", id="notice", role="alert", hidden=True)
    foot = tag("footer", tag("p", _ABOUT))
    return f'<!doctype html><html lang="en">{head}{tag("body", notice, *body, foot)}</html>'


def section(name: str, title: str, *children: Markup) -> Markup:
    """A section under its heading."""
    heading = tag("h2", title, id=f"{name}-title")
    return tag("section", heading, *children, id=name, aria_labelledby=f"{name}-title")


def part(name: str, children: list[Markup], **attributes: str) -> Markup:
    """What is brought up to date as a whole."""
    return tag("div", joined(children), id=name, data_live=True, **attributes)
