"""What an operator may have meant who has mistyped a name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

_MOST = 3
_ALIKE = 0.7  # from 0 to 1


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """The names that are most like this one, the most alike first; maybe none.

    >>> nearest("kichen", ["pi-79", "garden", "kitchen"])
    ['kitchen']
    """
    return get_close_matches(name, known, _MOST, _ALIKE)


def meant(name: str, known: Sequence[str]) -> str:
    """The same as a question, or nothing.

    >>> meant("pi-8o", ["pi-80"]), meant("phone", ["pi-80"])
    (" (did you mean 'pi-80'?)", '')
    """
    found = nearest(name, known)
    return f" (did you mean {', '.join(map(repr, found))}?)" if found else ""
