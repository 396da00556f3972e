"""Reading fields from untrusted tables (TOML files, messages): every fault names field, value and remedy."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fsir.errors import TaskError

_REQUIRED: Any = object()


class Table:
    """One table of a file or message; `done` refuses whatever nobody asked for."""

    def __init__(self, values: Any, path: str) -> None:
        if not isinstance(values, Mapping):
            raise TaskError(path or "task", values, "must be a table")
        self._values, self._path, self._seen = values, path, set[str]()

    def error(self, key: str, value: Any, remedy: str) -> TaskError:
        """The error for one field of this table."""
        return TaskError(f"{self._path}.{key}" if self._path else key, value, remedy)

    def has(self, key: str) -> bool:
        """Whether the field is there."""
        return key in self._values

    def get(self, key: str, default: Any = _REQUIRED) -> Any:
        """The raw value of a field."""
        self._seen.add(key)
        if key in self._values:
            return self._values[key]
        if default is _REQUIRED:
            raise self.error(key, None, "is missing; add it")
        return default

    def done(self) -> None:
        """Refuse unknown fields: a misspelt one must not fall back to a default."""
        for key in self._values:
            if key not in self._seen:
                close = difflib.get_close_matches(str(key), self._seen, 1)
                hint = (
                    f"did you mean {close[0]!r}?"
                    if close
                    else f"known fields: {', '.join(sorted(self._seen))}"
                )
                raise self.error(str(key), self._values[key], f"unknown field; {hint}")

    def section(self, key: str) -> Table:
        """A table inside of this one."""
        return Table(self.get(key, {}), f"{self._path}.{key}" if self._path else key)

    def text(self, key: str, default: Any = _REQUIRED) -> str:
        """A short text."""
        return self._text(key, self.get(key, default))

    def texts(self, key: str, default: Any = _REQUIRED, *, at_most: int) -> tuple[str, ...]:
        """A list of short texts."""
        values = self.get(key, default)
        if not isinstance(values, list | tuple) or len(values) > at_most:
            raise self.error(key, values, f"must be a list of at most {at_most} texts")
        return tuple(self._text(key, value) for value in values)

    def _text(self, key: str, value: Any) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= 200 or not value.isprintable():
            raise self.error(key, value, "must be printable text of 1 to 200 characters")
        return value

    def choice(self, key: str, default: Any, allowed: tuple[str, ...]) -> str:
        """One of a few words."""
        value = self.get(key, default)
        if value not in allowed:
            raise self.error(key, value, f"must be one of {', '.join(allowed)}")
        return str(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, value, "must be true or false")
        return value

    def whole(self, key: str, default: Any = _REQUIRED, *, low: int = 0, high: int = 2**53) -> Any:
        """A whole number between `low` and `high`, or the default `None`."""
        value = self.get(key, default)
        if value is None and default is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.error(key, value, f"must be a whole number from {low} to {high}")
        return value

    def number(
        self, key: str, default: Any = _REQUIRED, *, above: float = -math.inf, least: float = -1e300,
        below: float = math.inf, to: float = 1e300,
    ) -> Any:  # fmt: skip
        """A finite number in a range (without `above` and `below`, with `least` and `to`), or the default `None`."""
        value = self.get(key, default)
        if value is None and default is None:
            return None
        number = self._number(key, value)
        if not (above < number < below and least <= number <= to):
            low = f"above {above:g}" if above > -math.inf else f"at least {least:g}"
            high = f"below {below:g}" if below < math.inf else f"at most {to:g}"
            raise self.error(key, value, f"must be {low} and {high}")
        return number

    def numbers(
        self, key: str, default: Any, count: int | None = None, *, at_most: int = 0
    ) -> tuple[float, ...]:
        """A list of finite numbers: exactly `count` (one number stands for all), or at most `at_most`."""
        values = self.get(key, default)
        if count is not None and not isinstance(values, list | tuple):
            return (self._number(key, values),) * count
        if not isinstance(values, list | tuple):
            raise self.error(key, values, "must be a list of numbers")
        if (count is not None and len(values) != count) or (
            count is None and len(values) > at_most
        ):
            raise self.error(
                key,
                f"{len(values)} values",
                f"must hold {count if count is not None else at_most} numbers",
            )
        return tuple(self._number(key, value) for value in values)

    def _number(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
            raise self.error(key, value, "must be a finite number")
        return float(value) + 0.0  # plus 0: minus zero would be another task

    def moment(self, key: str, default: Any) -> int | None:
        """A moment in time as seconds since 1970: a number, or a TOML date with its offset."""
        value = self.get(key, default)
        if isinstance(value, datetime):
            if value.tzinfo is None:
                raise self.error(
                    key, value, "say which time zone, for example 2026-12-01T00:00:00Z"
                )
            value = int(value.timestamp())
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**40:
            raise self.error(key, value, "must be a date with time and zone, or seconds since 1970")
        return value
