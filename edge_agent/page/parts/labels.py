"""What the owner is doing: the buttons, and what was pressed."""

from __future__ import annotations

from edge_agent.labels.timeline import Event
from edge_agent.page.look import Look
from edge_agent.page.parts.common import clock, form
from fsir.net.web.markup import Markup, tag

_STAYS = (
    " Nobody but you is told. It says what the records of that time mean; what is learned from it "
    "leaves with noise, like everything else."
)


def pressed(current: Event | None) -> list[Markup]:
    """The label that holds, and for how long."""
    if current is None:
        return [tag("p", "Press what you are doing.", tag("span", _STAYS, class_="quiet"))]
    begun = clock(current.time)
    end = clock(current.until)
    return [
        tag("p", tag("b", current.label), " since ", begun, ", until ", end, " at the latest."),
    ]


def buttons(look: Look, current: Event | None, csrf: str) -> list[Markup]:
    """One for each class that some task knows, and one for none."""
    if not look.labels:
        return [tag("p", "No task with classes has been accepted yet.", class_="quiet")]
    held = None if current is None else current.label
    row = [
        tag(
            "button",
            label,
            name="label",
            value=label,
            id=f"label-{k}",
            aria_pressed="true" if label == held else "false",
        )
        for k, label in enumerate(look.labels)
    ]
    clear = tag("button", "Not known any more", name="label", value="", id="clear", class_="plain")
    return [form("/label", csrf, *row, clear, class_="buttons")]
