"""Reading fields from untrusted tables: every fault names field, value and what is expected.

`Fields` knows the checks, and each kind of table how to say that one has failed: `Table` for files
(tasks, policies), `fsir.wire.fields.MessageFields` for messages.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fsir.errors import FsirError, TaskError, meant

_REQUIRED: Any = object()
_LONGEST_TEXT = 200  # characters


class Fields(ABC):
    """The fields of one table; each can be read once, and what nobody has read is a fault."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._left = dict(values)

    @abstractmethod
    def wrong(self, key: str, value: Any, expected: str) -> FsirError:
        """The error for a field that is there, but is not what is expected."""

    @abstractmethod
    def missing(self, key: str) -> FsirError:
        """The error for a field that must be there."""

    @abstractmethod
    def unknown(self, left: Mapping[str, Any]) -> FsirError:
        """The error for fields that nobody has read, at least one."""

    def has(self, key: str) -> bool:
        """Whether the field is there, and was not read yet."""
        return key in self._left

    def get(self, key: str, default: Any = _REQUIRED) -> Any:
        """The raw value of a field."""
        try:
            return self._left.pop(key)
        except KeyError:
            if default is _REQUIRED:
                raise self.missing(key) from None
            return default

    def done(self) -> None:
        """Refuse unknown fields: a misspelt one must not fall back to a default."""
        if self._left:
            raise self.unknown(self._left)

    def text(self, key: str, default: Any = _REQUIRED) -> str:
        """A short text."""
        return self.as_text(key, self.get(key, default))

    def texts(self, key: str, default: Any = _REQUIRED, *, at_most: int) -> tuple[str, ...]:
        """A list of short texts."""
        values = self.get(key, default)
        if not isinstance(values, list | tuple) or len(values) > at_most:
            raise self.wrong(key, values, f"a list of at most {at_most} texts")
        return tuple(self.as_text(key, value) for value in values)

    def choice(self, key: str, default: Any, allowed: tuple[str, ...]) -> str:
        """One of a few words."""
        return self.as_choice(key, self.get(key, default), allowed)

    def flag(self, key: str, default: Any = _REQUIRED) -> bool:
        """True or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def whole(self, key: str, default: Any = _REQUIRED, *, low: int = 0, high: int = 2**53) -> int:
        """A whole number between `low` and `high`."""
        return self.as_whole(key, self.get(key, default), low, high)

    # The same checks for a value inside of a field, such as an entry of a list.

    def as_text(self, key: str, value: Any) -> str:
        """A value that must be a short text."""
        if (
            not isinstance(value, str)
            or not 0 < len(value) <= _LONGEST_TEXT
            or not value.isprintable()
        ):
            raise self.wrong(key, value, f"printable text of 1 to {_LONGEST_TEXT} characters")
        return value

    def as_choice(self, key: str, value: Any, allowed: tuple[str, ...]) -> str:
        """A value that must be one of a few words."""
        if not isinstance(value, str) or value not in allowed:
            raise self.wrong(key, value, f"one of {', '.join(allowed)}")
        return value

    def as_whole(self, key: str, value: Any, low: int, high: int) -> int:
        """A value that must be a whole number."""
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.wrong(key, value, f"a whole number from {low} to {high}")
        return value


class Table(Fields):
    """One table of a file: a fault is a `TaskError` with the remedy.

    >>> table = Table({"epsilon": 2}, "privacy")
    >>> table.flag("epsilon", False)
    Traceback (most recent call last):
    fsir.errors.TaskError: privacy.epsilon = 2: must be true or false
    """

    def __init__(self, values: Any, path: str, instead: str | None = None) -> None:
        if not isinstance(values, Mapping):
            raise TaskError(path or "task", values, "must be a table")
        super().__init__(values)
        self._path = path
        self._instead = instead  # a table with nearly the same name, where this one is not there
        self._asked: set[str] = set()
        self._sections: list[Table] = []

    def has(self, key: str) -> bool:
        """Whether the field is there, and was not read yet."""
        self._asked.add(key)
        return super().has(key)

    def get(self, key: str, default: Any = _REQUIRED) -> Any:
        """The raw value of a field."""
        self._asked.add(key)
        return super().get(key, default)

    def error(self, key: str, value: Any, remedy: str) -> TaskError:
        """The error for one field of this table."""
        return TaskError(self._place(key), value, remedy)

    def wrong(self, key: str, value: Any, expected: str) -> TaskError:
        """The error for a field that is there, but is not what is expected."""
        return self.error(key, value, f"must be {expected}")

    def missing(self, key: str) -> TaskError:
        """The error for a field that must be there, with the one that may be meant by it."""
        if self._instead is not None:
            return self.error(key, None, f"is missing; did you mean it by [{self._instead}]?")
        close = self._close(key)
        remedy = "add it" if close is None else f"did you mean it by {self._place(close)!r}?"
        return self.error(key, None, f"is missing; {remedy}")

    def _close(self, key: str) -> str | None:
        """A field that nobody has read yet, with nearly this name."""
        return meant(key, [name for name in self._left if isinstance(name, str)])

    def unknown(self, left: Mapping[str, Any]) -> TaskError:
        """The error for the first of these fields, with the name that was probably meant."""
        key = next(iter(left))
        places = {name: part._place(name) for part in self._sections for name in part._asked}
        places |= {name: name for name in self._asked}
        close = meant(str(key), places)
        known = f"known fields: {', '.join(sorted(self._asked))}"
        hint = known if close is None else f"did you mean {places[close]!r}?"
        return self.error(str(key), left[key], f"unknown field; {hint}")

    def _place(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def section(self, key: str) -> Table:
        """A table inside of this one."""
        close = None if key in self._left else self._close(key)
        instead = None if close is None else self._place(close)
        part = Table(self.get(key, {}), self._place(key), instead)
        self._sections.append(part)
        return part

    def optional_whole(self, key: str, *, low: int, high: int) -> int | None:
        """A whole number between `low` and `high`, or None where the field is not there."""
        value = self.get(key, None)
        return None if value is None else self.as_whole(key, value, low, high)

    def number(self, key: str, default: Any = _REQUIRED, **limits: float) -> float:
        """A finite number in a range: without `above` and `below`, with `least` and `to`."""
        return self._in_range(key, self.get(key, default), **limits)

    def optional_number(self, key: str, **limits: float) -> float | None:
        """A finite number in a range, or None where the field is not there."""
        value = self.get(key, None)
        return None if value is None else self._in_range(key, value, **limits)

    def _in_range(
        self,
        key: str,
        value: Any,
        *,
        above: float = -math.inf,
        least: float = -1e300,
        below: float = math.inf,
        to: float = 1e300,
    ) -> float:
        number = self._number(key, value)
        if not (above < number < below and least <= number <= to):
            low = f"above {above:g}" if above > -math.inf else f"at least {least:g}"
            high = f"below {below:g}" if below < math.inf else f"at most {to:g}"
            raise self.wrong(key, value, f"{low} and {high}")
        return number

    def numbers(
        self, key: str, default: Any, count: int | None = None, *, at_most: int = 0
    ) -> tuple[float, ...]:
        """A list of finite numbers: exactly `count` (one stands for all), or at most `at_most`."""
        values = self.get(key, default)
        if not isinstance(values, list | tuple):
            if count is None:
                raise self.wrong(key, values, "a list of numbers")
            return (self._number(key, values),) * count
        if len(values) > at_most if count is None else len(values) != count:
            wanted = at_most if count is None else count
            raise self.error(key, f"{len(values)} values", f"must hold {wanted} numbers")
        return tuple(self._number(key, value) for value in values)

    def _number(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
            raise self.wrong(key, value, "a finite number")
        return float(value) + 0.0  # plus 0: minus zero would be another task

    def optional_instant(self, key: str) -> int | None:
        """An instant in seconds since 1970 (a number, or a date with its offset), or None."""
        value = self.get(key, None)
        if isinstance(value, datetime):
            if value.tzinfo is None:
                remedy = "say which time zone, for example 2026-12-01T00:00:00Z"
                raise self.error(key, value, remedy)
            value = int(value.timestamp())
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**40:
            raise self.wrong(key, value, "a date with time and zone, or seconds since 1970")
        return value
