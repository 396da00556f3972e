"""The fields of messages, which anybody may have sent."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from fsir.arrays import Matrix
from fsir.errors import MessageError, VersionError, shown
from fsir.fields import Fields
from fsir.limits import DEVICE_NAME, INSTANCE_BYTES, MAX_ROUNDS
from fsir.wire.messages import STAGES, VERSION

Kind = TypeVar("Kind")

_SHOWN = 60  # characters of an unknown field's name
_DIGEST_BYTES = 32


class MessageFields(Fields):
    """The fields of one message: a fault is a `MessageError`.

    >>> MessageFields({"n": "many"}).whole("n", low=1)
    Traceback (most recent call last):
    fsir.errors.MessageError: field 'n': 'many' is not a whole number from 1 to 9007199254740992
    """

    def wrong(self, key: str, value: Any, expected: str) -> MessageError:
        """The error for a field that is there, but is not what is expected."""
        return MessageError(f"field {key!r}: {shown(value)} is not {expected}")

    def missing(self, key: str) -> MessageError:
        """The error for a field that must be there."""
        return MessageError(f"field {key!r} is missing")

    def unknown(self, left: Mapping[str, Any]) -> MessageError:
        """The error for the first of these fields, by name."""
        return MessageError(f"unknown field {min(left, key=str)[:_SHOWN]!r}")

    def device(self) -> str:
        """The name of the device that the message is from or for."""
        name = self.text("device")
        if not DEVICE_NAME.match(name):
            raise self.wrong("device", name, "1 to 64 letters, digits, '.', '_' or '-'")
        return name

    def digest(self) -> bytes:
        """The digest of the task that the message belongs to."""
        value = self.get("task")
        if not isinstance(value, bytes) or len(value) != _DIGEST_BYTES:
            raise self.wrong("task", value, f"a digest of {_DIGEST_BYTES} bytes")
        return value

    def instance(self, key: str) -> bytes:
        """The number of one copy of a device."""
        value = self.get(key)
        if not isinstance(value, bytes) or len(value) != INSTANCE_BYTES:
            raise self.wrong(key, value, f"a number of {INSTANCE_BYTES} bytes")
        return value

    def stage(self) -> str:
        """The stage that the message is about."""
        return self.as_choice("stage", self.get("stage"), STAGES)

    def round(self) -> int:
        """The round that the message is about; the first one is not named."""
        if not self.has("round"):
            return 1
        return self.whole("round", low=2, high=MAX_ROUNDS)

    def raw(self, key: str, low: int, high: int) -> bytes:
        """So many bytes."""
        value = self.get(key)
        if not isinstance(value, bytes) or not low <= len(value) <= high:
            between = f"{low}" if low == high else f"{low} to {high}"
            raise self.wrong(key, value, f"{between} bytes")
        return value

    def size(self, key: str) -> float:
        """A number of at least 0, maybe infinite."""
        value = self.get(key)
        is_number = isinstance(value, float | int) and not isinstance(value, bool)
        if not is_number or math.isnan(value) or value < 0:
            raise self.wrong(key, value, "a number of at least 0")
        return float(value)

    def array(self, key: str, dimensions: int) -> Matrix:
        """An array of finite numbers: its shape, and its values as bytes."""
        value = self.get(key)
        if not is_shape_and_bytes(value):
            raise self.wrong(key, value, "an array")
        shape = tuple(self.as_whole(key, size, 0, 2**31) for size in value[0])
        if len(shape) != dimensions or 8 * math.prod(shape) != len(value[1]):
            raise MessageError(f"field {key!r}: shape {shape} does not fit {len(value[1])} bytes")
        array = np.frombuffer(value[1], "<f8").reshape(shape).astype(np.float64)
        if not np.isfinite(array).all():
            raise MessageError(f"field {key!r}: holds NaN or infinity")
        return array


def is_shape_and_bytes(value: Any) -> bool:
    """Whether a value is a list of a list and bytes: how arrays and votes are packed."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], list)
        and isinstance(value[1], bytes)
    )


def read_message(
    table: Mapping[str, Any], kind: str, reader: Callable[[MessageFields], Kind]
) -> Kind:
    """What `reader` makes of a message of this kind and of our version."""
    fields = MessageFields(table)
    version = fields.whole("v")
    if version != VERSION:
        raise VersionError(
            f"protocol version {version}: this program speaks version {VERSION}; "
            "update one of the two"
        )
    if (name := fields.text("kind")) != kind:
        raise MessageError(f"kind {name!r}: expected {kind!r} on this topic")
    message = reader(fields)
    fields.done()
    return message
