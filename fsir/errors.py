"""The errors of this project: each names the value it met and what to do about it."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any

_QUOTE = reprlib.Repr()
_QUOTE.maxlevel = 2
_QUOTE.maxstring = 80
_QUOTE.maxother = 80


def shown(value: Any) -> str:
    """A value as an error quotes it: bounded in length and depth, however hostile it is."""
    return _QUOTE.repr(value[:80] if isinstance(value, bytes) else value)


def meant(name: str, known: Iterable[str]) -> str | None:
    """The known name that somebody probably meant who has written another one; None: none is near.

    >>> meant("Activty", ["time", "activity"]), meant("mood", ["time", "activity"])
    ('activity', None)
    """
    import difflib  # here alone: who makes no mistakes does not wait for it

    by_spelling = {one.strip().casefold(): one for one in known}
    close = difflib.get_close_matches(name.strip().casefold(), by_spelling, 1)
    return by_spelling[close[0]] if close else None


def some(names: Iterable[str]) -> str:
    """The first few of many names.

    >>> some("abcdefghij")
    'a, b, c, d, e, f, g, h, ...'
    """
    listed = list(names)
    return ", ".join(listed[:8]) + (", ..." if len(listed) > 8 else "")


class FsirError(Exception):
    """Base of all errors that this project raises on purpose.

    Examples
    --------
    >>> import fsir
    >>> try:
    ...     fsir.mu_of(epsilon=-1.0, delta=1e-6)
    ... except fsir.FsirError as error:
    ...     print(error)
    epsilon = -1.0: must lie strictly between 0 and inf
    """


class TaskError(FsirError):
    """A task that cannot be used, with the field, the value found there and the remedy."""

    def __init__(self, field: str, value: Any, remedy: str) -> None:
        super().__init__(f"{field} = {shown(value)}: {remedy}")
        self.field = field
        self.value = value
        self.remedy = remedy


class TableError(FsirError):
    """A table that cannot be read as it is: the file, the place in it, and the remedy."""


class MessageError(FsirError):
    """Bytes from the wire that are not a valid message."""


class VersionError(MessageError):
    """A message of a protocol version that this program does not speak."""


class RecordError(FsirError):
    """A record that cannot be learned from. `reason` is one short word for counters."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class AccumulatorError(FsirError):
    """One more record could make a sum inexact."""


class AccountingError(FsirError, ValueError):
    """A privacy parameter outside of what the formulas are proven for."""


class KeyFileError(FsirError):
    """A key file that cannot be written, read or trusted."""


class ConnectionSettingsError(FsirError):
    """An address or a certificate that cannot be used."""


class LoginRefusedError(FsirError):
    """The broker does not let this device in; trying again would not help."""
