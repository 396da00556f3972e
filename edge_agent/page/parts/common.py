"""What several parts of the page have: times, colours, forms."""

from __future__ import annotations

from datetime import datetime

from fsir.net.web.markup import Markup, tag

COLOURS = 8  # of classes and releases, as the style sheet has them


def colour(index: int) -> str:
    """The style of a class or a release."""
    return f"colour-{index % COLOURS}"


def clock(seconds: float) -> Markup:
    """A time of day of this device, with the date unless it is today."""
    try:
        moment = datetime.fromtimestamp(seconds)
    except (ValueError, OverflowError, OSError):
        return tag("time", "at a time beyond all calendars")
    today = moment.date() == datetime.now().date()
    words = moment.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")
    return tag("time", words, datetime=moment.astimezone().isoformat(timespec="seconds"))


def form(action: str, csrf: str, *children: object, **attributes: object) -> Markup:
    """A form that only a page of ours can send."""
    proof = tag("input", type="hidden", name="csrf", value=csrf)
    return tag("form", proof, *children, method="post", action=action, **attributes)


def number(value: float) -> str:
    """
    >>> number(12.0), number(0.123)
    ('12', '0.12')
    """
    return f"{round(value, 2):g}"
