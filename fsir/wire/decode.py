"""Decoding of untrusted bytes: every field is checked before anything is built from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgpack
import numpy as np
from numpy.typing import NDArray

from fsir.errors import MessageError, VersionError, shown
from fsir.limits import DEVICE_NAME, ID_BYTES, LIMITS
from fsir.wire import bounds as measure
from fsir.wire import codec
from fsir.wire.messages import (
    STAGES,
    STATUSES,
    VERSION,
    Active,
    Classifier,
    Message,
    Presence,
    Receipt,
    Report,
    Subspace,
    Verdict,
)

Kind = TypeVar("Kind")

_SHOWN = 60  # characters of a wrong value in an error message
_PARTS = {"report": 64}  # of a message; a report has few, its numbers being packed ...
_PARTS_ELSEWHERE = (
    100_000  # ... a task of 20,000 features has a name, a centre and a scale for each
)
_DEEPEST = 8  # lists in lists


def unpack(raw: bytes, kind: str = "task", limit: int | None = None) -> dict[str, Any]:
    """A msgpack map with text keys, of bounded size in bytes and in parts; `limit` is for who knows a tighter one."""
    limit = LIMITS[kind] if limit is None else min(limit, LIMITS[kind])
    if len(raw) > limit:
        raise MessageError(f"message of {len(raw)} bytes: at most {limit} are accepted")
    try:
        measure.check(raw, _PARTS.get(kind, _PARTS_ELSEWHERE), _DEEPEST)
        table = msgpack.unpackb(raw, strict_map_key=True)  # bounds every length by len(raw)
    # msgpack has no common base for its errors; deep nesting raises its own StackError or a RecursionError.
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise MessageError(f"not msgpack: {type(error).__name__}: {str(error)[:_SHOWN]}") from None
    if not isinstance(table, dict) or set(map(type, table)) - {str}:
        raise MessageError("not a message: a map with text keys is expected")
    return table


def decode(raw: bytes, kind: type[Kind], limit: int | None = None) -> Kind:
    """The message of the given kind, such as `Subspace`, that `raw` holds."""
    name = kind.__name__.lower()
    message = _decode(unpack(raw, name, limit), name, _READERS[name])
    assert isinstance(message, kind)  # by the table of readers
    return message


class SealedReport(NamedTuple):
    """A report whose blocks are still packed: a receiver of many opens those of one layout together."""

    task: bytes
    device: str
    stage: str
    n: int
    packed: codec.Packed | None
    votes: NDArray[np.bool_] | None


def decode_sealed(table: Mapping[str, Any]) -> SealedReport:
    """The report in an unpacked table, all of it checked except for the packed values."""
    return _decode(table, "report", _sealed)


def _decode(table: Mapping[str, Any], kind: str, reader: Callable[[_Fields], Kind]) -> Kind:
    fields = _Fields(table)
    version = fields.whole("v")
    if version != VERSION:
        raise VersionError(
            f"protocol version {version}: this program speaks version {VERSION}; update one of the two"
        )
    if (found := fields.text("kind")) != kind:
        raise MessageError(f"kind {found!r}: expected {kind!r} on this topic")
    message = reader(fields)
    fields.done()
    return message


class _Fields:
    """The fields of one message; each can be read once, and what nobody read is a fault."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._left = dict(table)

    def get(self, key: str) -> Any:
        try:
            return self._left.pop(key)
        except KeyError:
            raise MessageError(f"field {key!r} is missing") from None

    def has(self, key: str) -> bool:
        return key in self._left

    def done(self) -> None:
        if self._left:
            raise MessageError(f"unknown field {min(self._left, key=str)[:_SHOWN]!r}")

    def text(self, key: str, most: int = 200) -> str:
        return _text(self.get(key), key, most)

    def texts(self, key: str, most: int) -> tuple[str, ...]:
        values = self.get(key)
        if not isinstance(values, list) or len(values) > most:
            raise _wrong(key, values, f"a list of at most {most} texts")
        return tuple(_text(value, key, 200) for value in values)

    def device(self) -> str:
        name = self.text("device")
        if not DEVICE_NAME.match(name):
            raise _wrong("device", name, "1 to 64 letters, digits, '.', '_' or '-'")
        return name

    def whole(self, key: str, low: int = 0, high: int = 2**53) -> int:
        return _whole(self.get(key), key, low, high)

    def number(self, key: str) -> float:
        value = self.get(key)
        if (
            not isinstance(value, float | int)
            or isinstance(value, bool)
            or math.isnan(value)
            or value < 0
        ):
            raise _wrong(key, value, "a number of at least 0")
        return float(value)

    def digest(self) -> bytes:
        value = self.get("task")
        if not isinstance(value, bytes) or len(value) != 32:
            raise _wrong("task", value, "a digest of 32 bytes")
        return value

    def array(self, key: str, dimensions: int) -> NDArray[np.float64]:
        value = self.get(key)
        if not (
            isinstance(value, list)
            and len(value) == 2
            and isinstance(value[0], list)
            and isinstance(value[1], bytes)
        ):
            raise _wrong(key, value, "an array")
        shape = tuple(_whole(size, key, 0, 2**31) for size in value[0])
        if len(shape) != dimensions or 8 * math.prod(shape) != len(value[1]):
            raise MessageError(f"field {key!r}: shape {shape} does not fit {len(value[1])} bytes")
        array = np.frombuffer(value[1], "<f8").reshape(shape).astype(np.float64)
        if not np.isfinite(array).all():
            raise MessageError(f"field {key!r}: holds NaN or infinity")
        return array


def _wrong(key: str, value: Any, expected: str) -> MessageError:
    return MessageError(f"field {key!r}: {shown(value)} is not {expected}")


def _whole(value: Any, key: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _wrong(key, value, f"a whole number from {low} to {high}")
    return value


def _wholes(values: list[Any], key: str, low: int, high: int) -> tuple[int, ...]:
    # Four sizes and four centres in every report: looked at all together, this is what intake spends least on.
    if set(map(type, values)) == {int} and low <= min(values) and max(values) <= high:
        return tuple(values)
    return tuple(_whole(value, key, low, high) for value in values)


def _text(value: Any, key: str, most: int) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= most or not value.isprintable():
        raise _wrong(key, value, f"printable text of 1 to {most} characters")
    return value


def _choice(value: Any, key: str, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise _wrong(key, value, f"one of {', '.join(allowed)}")
    return value


def _report(fields: _Fields) -> Report:
    sealed = _sealed(fields)
    blocks = () if sealed.packed is None else codec.unpack(sealed.packed)
    return Report(sealed.task, sealed.device, sealed.stage, sealed.n, blocks, sealed.votes)


def _sealed(fields: _Fields) -> SealedReport:
    task, device, n = fields.digest(), fields.device(), fields.whole("n", 1, 2**25)
    stage = _choice(fields.get("stage"), "stage", STAGES)
    if fields.has("votes"):
        return SealedReport(task, device, stage, n, None, _votes(fields.get("votes")))
    value = fields.get("blocks")
    if not (
        isinstance(value, list)
        and len(value) == 5
        and type(value[0]) is list
        and type(value[1]) is list
    ):
        raise _wrong("blocks", value, "packed blocks")
    sizes = _wholes(value[0], "blocks", 0, 2**31)
    centres = _wholes(value[1], "blocks", -codec.LARGEST, codec.LARGEST)
    if len(sizes) != 4 or type(value[3]) is not bytes or type(value[4]) is not bytes:
        raise _wrong("blocks", value, "four packed blocks")
    packed = codec.Packed(sizes, centres, _whole(value[2], "blocks", 0, 64), value[3], value[4])
    return SealedReport(task, device, stage, n, packed, None)


def _votes(value: Any) -> NDArray[np.bool_]:
    if not (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], list)
        and isinstance(value[1], bytes)
    ):
        raise _wrong("votes", value, "packed votes")
    shape = tuple(_whole(size, "votes", 1, 2**20) for size in value[0])
    count = math.prod(shape)
    if len(shape) != 2 or len(value[1]) != (count + 7) // 8:
        raise MessageError(f"field 'votes': shape {shape} does not fit {len(value[1])} bytes")
    return (
        np.unpackbits(np.frombuffer(value[1], np.uint8), count=count)
        .astype(np.bool_)
        .reshape(shape)
    )


def _receipt(fields: _Fields) -> Receipt:
    task, device, table = fields.digest(), fields.device(), fields.get("verdicts")
    if not isinstance(table, dict) or not set(table) <= set(STAGES):
        raise _wrong("verdicts", table, "a verdict per stage")
    verdicts = {}
    for stage, value in table.items():
        if not (
            isinstance(value, list)
            and len(value) == 3
            and isinstance(value[0], bytes)
            and isinstance(value[2], str)
        ):
            raise _wrong("verdicts", value, "a verdict")
        if (
            len(value[0]) != ID_BYTES
            or len(value[2]) > 500
            or not (value[2].isprintable() or not value[2])
        ):
            raise _wrong(
                "verdicts",
                value,
                f"an id of {ID_BYTES} bytes and a reason of at most 500 characters",
            )
        verdicts[stage] = Verdict(value[0], _choice(value[1], "verdicts", STATUSES), value[2])
    return Receipt(task, device, verdicts)


def _active(fields: _Fields) -> Active:
    features = fields.texts("features", 20_000)
    if not features or len(set(features)) < len(features):
        raise _wrong("features", features, "a list of different names, at least one")
    return Active(fields.digest(), features, fields.whole("devices"))


def _subspace(fields: _Fields) -> Subspace:
    features, basis = fields.texts("features", 20_000), fields.array("basis", 2)
    if len(features) != len(basis) or not 1 <= basis.shape[1] <= len(basis):
        raise MessageError(
            f"field 'basis': shape {basis.shape} does not fit {len(features)} features"
        )
    classifier = (
        _classifier(fields.get("classifier"), basis.shape[1]) if fields.has("classifier") else None
    )
    return Subspace(
        fields.digest(), fields.whole("version"), features, basis, fields.array("singular_values", 1),
        fields.number("noise_level"), fields.number("expected_error"), fields.whole("devices"), fields.whole("records"),
        fields.whole("refused"), classifier, fields.texts("notes", 20),
    )  # fmt: skip


def _classifier(value: Any, dimension: int) -> Classifier:
    if not isinstance(value, dict):
        raise _wrong("classifier", value, "a table")
    fields = _Fields(value)
    classes = fields.texts("classes", 256)
    weights, bias, centroids = (
        fields.array("weights", 2),
        fields.array("bias", 1),
        fields.array("centroids", 2),
    )
    fields.done()
    shape = (len(classes), dimension)
    if (
        weights.shape != shape
        or centroids.shape != shape
        or bias.shape != (len(classes),)
        or not classes
    ):
        raise MessageError(
            f"field 'classifier': arrays do not fit {len(classes)} classes in {dimension} dimensions"
        )
    return Classifier(classes, weights, bias, centroids)


def _presence(fields: _Fields) -> Presence:
    online = fields.get("online")
    if not isinstance(online, bool):
        raise _wrong("online", online, "true or false")
    return Presence(fields.device(), online)


_READERS: dict[str, Callable[[_Fields], Message]] = {
    "report": _report,
    "receipt": _receipt,
    "active": _active,
    "subspace": _subspace,
    "presence": _presence,
}
