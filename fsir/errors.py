"""The errors of this project: each names the value it met and what to do about it."""

from __future__ import annotations

from typing import Any


class FsirError(Exception):
    """Base of all errors that this project raises on purpose."""


class TaskError(FsirError):
    """A task that cannot be used, with the field, the value found there and the remedy."""

    def __init__(self, field: str, value: Any, remedy: str) -> None:
        shown = repr(value)
        if len(shown) > 80:
            shown = shown[:77] + "..."
        super().__init__(f"{field} = {shown}: {remedy}")
        self.field, self.value, self.remedy = field, value, remedy


class MessageError(FsirError):
    """Bytes from the wire that are not a valid message."""


class RecordError(FsirError):
    """A record that cannot be learned from. `reason` is one short word for counters."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class AccumulatorError(FsirError):
    """One more record could make a sum inexact."""


class AccountingError(FsirError, ValueError):
    """A privacy parameter outside of what the formulas are proven for."""
