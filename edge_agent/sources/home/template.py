"""Which topics make a record, and what a message on one of them says: a file of the owner.

every = 300          # seconds from one record to the next
max_age = 900        # for how long a value counts after it came; without this: `every`

[values.kitchen]     # the name of a feature, or of the response
topic = "zigbee2mqtt/kitchen"
path = "temperature"             # where the message is JSON; nested values as a.b

[values.motion]
topic = "homeassistant/binary_sensor/hall_motion/state"
words = { on = 1, off = 0 }
max_age = 600                    # of this value
otherwise = 0                    # what it is if nothing has come for so long
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edge_agent.errors import SourceError
from edge_agent.sources.jsonl import values_of
from fsir.errors import TaskError
from fsir.fields import Table

LONGEST_SECONDS = 86_400  # from one record to the next
MOST_RECORDS = 10_000  # that one message may touch: a larger unit drowns in its noise anyway
LONGEST_TEXT = 200  # characters of a value that is no number
MISSING = object()  # what a message does not speak about


@dataclass(frozen=True, kw_only=True)
class Value:
    """One value of a record: where it comes from, and in how many records it may stand."""

    name: str
    topic: str
    path: str | None
    words: Mapping[str, Any]
    holds: int  # records, from the next one on
    otherwise: Any = None

    def read(self, payload: bytes) -> Any:
        """What a message says; None if it says nothing that counts, MISSING if nothing at all."""
        if self.path is not None:
            content = values_of(payload).get(self.path, MISSING)
        else:
            content = _plain(payload)
        if content is MISSING or content is None:
            return content
        text = content if isinstance(content, str) else json.dumps(content)
        if self.words:
            return self.words.get(text)
        return None if len(text) > LONGEST_TEXT else content


def _plain(payload: bytes) -> Any:
    """A number, a word, or what stands in quotes."""
    text = payload.decode("utf-8", "replace").strip()
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return text or None
    return text if isinstance(content, dict | list) else content


@dataclass(frozen=True, kw_only=True)
class Template:
    """All values of a record, and how often there is one."""

    every: int  # seconds
    values: tuple[Value, ...] = field(repr=False)

    @property
    def unit_records(self) -> int:
        """In how many records, one after the other, one message can stand."""
        return max(value.holds for value in self.values)

    @property
    def topics(self) -> list[str]:
        """What to listen to."""
        return sorted({value.topic for value in self.values})


def load_template(path: Path) -> Template:
    """Read the file; every fault names the field."""
    try:
        with path.open("rb") as file:
            return _template(Table(tomllib.load(file), ""))
    except OSError as error:
        raise SourceError(
            f"template {path}: {error.strerror}; give the path of a TOML file (docs/sensors.md)"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SourceError(f"template {path}: not valid TOML: {error}") from None
    except TaskError as error:
        raise SourceError(f"template {path}: {error}") from None


def _template(table: Table) -> Template:
    every = table.whole("every", low=1, high=LONGEST_SECONDS)
    holds = _holds(table, every, 1)
    section = table.get("values", {})
    if not isinstance(section, Mapping) or not section:
        raise table.error("values", section, "must name at least one: [values.NAME] with its topic")
    values = tuple(
        _value(name, Table(content, f"values.{name}"), every, holds)
        for name, content in section.items()
    )
    table.done()
    return Template(every=every, values=values)


def _value(name: str, table: Table, every: int, holds: int) -> Value:
    topic = table.text("topic")
    if set(topic) & set("+#\0"):
        raise table.error("topic", topic, "must be one topic, without + and #")
    value = Value(
        name=name,
        topic=topic,
        path=table.text("path") if table.has("path") else None,
        words=_words(table),
        holds=_holds(table, every, holds),
        otherwise=_scalar(table, "otherwise", table.get("otherwise", None)),
    )
    table.done()
    return value


def _holds(table: Table, every: int, default: int) -> int:
    """How many records a value may stand in so that it is never older than it may be.

    It came in the period before the first of them, so that in the last it is at most so many
    periods old.
    """
    limit = every * MOST_RECORDS
    age = table.optional_number("max_age", least=every, to=limit)
    return default if age is None else int(age // every)


def _words(table: Table) -> dict[str, Any]:
    words = table.get("words", {})
    if not isinstance(words, Mapping):
        raise table.wrong("words", words, "a table such as { on = 1, off = 0 }")
    return {word: _scalar(table, "words", value) for word, value in words.items()}


def _scalar(table: Table, key: str, value: Any) -> Any:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float | str)):
        raise table.wrong(key, value, "a number or a text")
    return value
