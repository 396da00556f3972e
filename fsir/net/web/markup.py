"""HTML that cannot be broken out of: whatever is not made here is text."""

from __future__ import annotations

import html
from collections.abc import Iterable

_EMPTY = {"meta", "link", "input"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(text: object) -> Markup:
    """HTML stays as it is, all else is text.

    >>> escaped("a < b"), escaped(tag("b", "c"))
    ('a &lt; b', '<b>c</b>')
    """
    return text if isinstance(text, Markup) else Markup(html.escape(str(text), quote=True))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element; an attribute that is `None` or false is left out.

    >>> tag("button", "<walk>", class_="wide", aria_pressed="true", disabled=None)
    '<button class="wide" aria-pressed="true">&lt;walk&gt;</button>'
    """
    words = "".join(
        f" {_attribute(key)}" if value is True else f' {_attribute(key)}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY:
        return Markup(f"<{name}{words}>")
    return Markup(f"<{name}{words}>{joined(children)}</{name}>")


def joined(children: Iterable[object]) -> Markup:
    """One after the other; `None` is nothing."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def _attribute(key: str) -> str:
    """
    >>> _attribute("aria_label"), _attribute("class_"), _attribute("viewBox")
    ('aria-label', 'class', 'viewBox')
    """
    return key.rstrip("_").replace("_", "-")
