"""What several parts have: figures, names of strangers, times, tables, coordinates."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aggregator.overview.words import harmless
from fsir.net.web.markup import Markup, tag

COLOURS = 8  # of classes and states, as the style sheet has them
_NAME_CHARACTERS = 80
_TEXT_CHARACTERS = 400
Spanned = tuple[float, float]


def colour(index: int) -> str:
    """The style of a class."""
    return f"colour-{index % COLOURS}"


def figure(path: str, value: object, text: str | None = None) -> Markup:
    """A figure of the overview: which one, its exact value, and how it is shown.

    >>> figure("progress.counted", 30)
    '<data data-of="progress.counted" value="30">30</data>'
    """
    shown = str(value) if text is None else text
    return tag("data", shown, data_of=path, value=json.dumps(value))


def name(text: str) -> Markup:
    """A name that somebody else has chosen: it cannot turn the writing around it."""
    return tag("bdi", harmless(text, _NAME_CHARACTERS))


def words(text: str) -> Markup:
    """A text that somebody else may have chosen."""
    return tag("bdi", harmless(text, _TEXT_CHARACTERS))


def clock(moment: str) -> Markup:
    """A time, of which a person needs no time zone but the one that it is in.

    >>> clock("2026-03-01T17:20:11+00:00")
    '<time datetime="2026-03-01T17:20:11+00:00">2026-03-01 17:20:11 UTC</time>'
    """
    return tag("time", f"{moment[:10]} {moment[11:19]} UTC", datetime=moment)


def table(caption: object, header: Sequence[object], rows: Sequence[Sequence[object]]) -> Markup:
    """A table whose rows begin with what they are about; wide ones scroll in their own frame."""
    head = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in header)))
    lines = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
        for row in rows
    ]
    return tag("table", tag("caption", caption), head, tag("tbody", *lines))


def number(value: float) -> str:
    """A coordinate.

    >>> number(12.0), number(0.123)
    ('12', '0.12')
    """
    return f"{round(value, 2):g}"


def quiet(text: object) -> Markup:
    """What is said where there is nothing to see yet."""
    return tag("p", text, class_="quiet")


def picture(
    label: str, width: float, height: float, *children: object, style: str, stretch: bool = False
) -> Markup:
    """An SVG with a name for who cannot see it."""
    return tag(
        "svg",
        *children,
        class_=style,
        viewBox=f"0 0 {width:g} {height:g}",
        preserveAspectRatio="none" if stretch else None,
        role="img",
        aria_label=label,
    )
