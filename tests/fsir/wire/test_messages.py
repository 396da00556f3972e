from __future__ import annotations

import dataclasses
import random
import tracemalloc

import msgpack
import numpy as np
import pytest

from fsir.contract import decode_task
from fsir.errors import FsirError, MessageError, TaskError, VersionError
from fsir.limits import LIMITS
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import (
    Active,
    Classifier,
    Presence,
    Receipt,
    Report,
    Subspace,
    Verdict,
    encode,
    report_id,
    topic,
)
from fsir.wire.unpack import unpack
from tests.fsir.tasks import screened, task

KINDS = {kind.__name__.lower(): kind for kind in (Active, Presence, Receipt, Report, Subspace)}
DIGEST = bytes(range(32))
RNG = np.random.default_rng(0)


def integers(*sizes):
    return tuple(RNG.normal(scale=12.0, size=size).astype(np.int64) for size in sizes)


def report(stage, **content):
    return Report(task=DIGEST, device="pi-7", stage=stage, n=1000, **content)


MESSAGES = {
    "report": report("final", blocks=integers(80, 8, 10, 45)),
    "screening report": report("screening", blocks=integers(30, 0, 0, 0)),
    "votes": report("screening", votes=RNG.random((21, 3)) < 0.2),
    "receipt": Receipt(
        DIGEST,
        "pi-7",
        {
            "screening": Verdict(b"a" * 16, "counted"),
            "final": Verdict(b"b" * 16, "refused", "second report"),
        },
    ),
    "active": Active(DIGEST, ("speed", "tilt", "beschleunigung-ü"), 12),
    "subspace": Subspace(
        task=DIGEST,
        version=3,
        features=("a", "b", "c"),
        basis=RNG.normal(size=(3, 2)),
        singular_values=np.array([0.5, 0.2, 0.01]),
        noise_level=0.02,
        expected_error=0.3,
        devices=12,
        records=12000,
        refused=1,
        classifier=Classifier(
            ("sit", "walk"), RNG.normal(size=(2, 2)), np.zeros(2), RNG.normal(size=(2, 2))
        ),
        notes=("few devices",),
    ),
    "bare subspace": Subspace(
        task=DIGEST,
        version=1,
        features=("a",),
        basis=np.ones((1, 1)),
        singular_values=np.ones(1),
        noise_level=0.0,
        expected_error=0.1,
        devices=1,
        records=10,
    ),
    "presence": Presence("pi-7", True),
}
RAW = {
    name: (encode(message), type(message).__name__.lower()) for name, message in MESSAGES.items()
}


def same(a, b):
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(
            same(getattr(a, part.name), getattr(b, part.name)) for part in dataclasses.fields(a)
        )
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, tuple):
        return (
            isinstance(b, tuple)
            and len(a) == len(b)
            and all(same(x, y) for x, y in zip(a, b, strict=True))
        )
    return bool(a == b)


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_survive_the_journey(name):
    raw, kind = RAW[name]
    assert same(decode(raw, KINDS[kind]), MESSAGES[name])
    assert encode(decode(raw, KINDS[kind])) == raw
    assert len(raw) <= LIMITS[kind]


def test_a_final_report_is_small():
    assert len(RAW["report"][0]) < 300  # p = 10, H = 8: 143 values, 1144 bytes as float64


def test_a_decoded_message_is_the_kind_of_its_topic():
    for raw, kind in RAW.values():
        for other in {"report", "receipt", "active", "subspace", "presence"} - {kind}:
            with pytest.raises(MessageError):
                decode(raw, KINDS[other])


def changed(name, **changes):
    table = msgpack.unpackb(RAW[name][0])
    for key, value in changes.items():
        if value is None:
            del table[key]
        else:
            table[key] = value
    return msgpack.packb(table), RAW[name][1]


DEEP: object = []
for _ in range(400):
    DEEP = [DEEP]

WRONG = [
    changed("report", v=2), changed("report", v="1"), changed("report", v=True), changed("report", v=None),
    changed("report", kind="active"), changed("report", extra=1), changed("report", n=0), changed("report", n=2**26),
    changed("report", n=1.0), changed("report", task=b"short"), changed("report", task="x" * 32),
    changed("report", device="a/b"), changed("report", device="#"), changed("report", device=""),
    changed("report", device="a" * 65), changed("report", stage="last"), changed("report", stage=["final"]),
    changed("report", blocks=None), changed("report", blocks=[]), changed("report", blocks=DEEP),
    changed("report", blocks=[[1], [0], 0, b"\x80", b""]),
    changed("report", blocks=[[1, 0, 0, 0], [0] * 4, 0, "a", b""]),
    changed("report", blocks=[[2**31] * 4, [0] * 4, 0, b"\x80", b""]),
    changed("report", blocks=[[1, 0, 0, 0], [2**60, 0, 0, 0], 0, b"\x80", b""]),
    changed("report", votes=[[2, 2], b"\0"]), changed("votes", votes=[[2, 2], b"\0\0"]),
    changed("votes", votes=[[4], b"\0"]),
    changed("votes", votes=[[2**20, 2**20], b"\0"]), changed("votes", votes=3), changed("votes", blocks=[]),
    changed("receipt", verdicts=[]), changed("receipt", verdicts={"third": [b"a" * 16, "counted", ""]}),
    changed("receipt", verdicts={"final": [b"a", "counted", ""]}),
    changed("receipt", verdicts={"final": [b"a" * 16, "ok", ""]}),
    changed("receipt", verdicts={"final": [b"a" * 16, "counted", "x" * 501]}),
    changed("receipt", verdicts={"final": [b"a" * 16, "counted", "\n"]}), changed("receipt", verdicts={"final": DEEP}),
    changed("active", features=[]), changed("active", features=["a", "a"]), changed("active", features=["a", 1]),
    changed("active", features="abc"), changed("active", devices=-1), changed("active", features=["a\0"]),
    changed("subspace", basis=[[3, 2], b"\0" * 47]), changed("subspace", basis=[[2, 3], b"\0" * 48]),
    changed("subspace", basis=[[3, 0], b""]), changed("subspace", basis=[[3, 2], np.full(6, np.nan).tobytes()]),
    changed("subspace", basis=[[3, 2], np.full(6, np.inf).tobytes()]), changed("subspace", basis=[[6], b"\0" * 48]),
    changed("subspace", noise_level=float("nan")), changed("subspace", noise_level=-1.0),
    changed("subspace", noise_level="0"), changed("subspace", notes=["x"] * 21), changed("subspace", classifier=[]),
    changed("subspace", classifier={}), changed("subspace", classifier=DEEP),
    changed("subspace", classifier={b"a": 1, "b": 2, **msgpack.unpackb(RAW["subspace"][0])["classifier"]}),
    changed("subspace", classifier={**msgpack.unpackb(RAW["subspace"][0])["classifier"], "bias": [[3], b"\0" * 24]}),
    changed("presence", online=1), changed("presence", device=3), changed("presence", device=b"pi"),
    (b"", "report"), (b"\xc1", "report"), (msgpack.packb([1]), "report"), (msgpack.packb({1: 2}), "report"),
    (msgpack.packb({"v": 1, b"kind": 2}), "report"), (b"\x91" * 10_000, "report"), (b"\xdf\xff\xff\xff\xff", "report"),
    (b"\xc6\xff\xff\xff\xff", "report"), (msgpack.packb({"v": 1}) + b"\0", "report"), (b"\x81\xa1\xff\x01", "report"),
    (msgpack.packb({"v": msgpack.Timestamp(1)}), "report"), (b"x" * 257, "presence"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_whatever_is_wrong_raises_the_one_error(number):
    raw, kind = WRONG[number]
    with pytest.raises(MessageError) as caught:
        decode(raw, KINDS[kind])
    assert 5 < len(str(caught.value)) < 600


@pytest.mark.parametrize("depth", [500, 1020])  # the second is deeper than Python can print
def test_nesting_as_deep_as_msgpack_allows_raises_the_one_error(depth):
    deep = b"\x91" * depth + b"\x90"
    raw = changed("active", features="@")[0].replace(b"\xa1@", deep)
    with pytest.raises(MessageError):
        decode(raw, Active)
    with pytest.raises(FsirError):
        decode_task(b"\x81\xa4name" + deep)


def test_another_version_is_told_apart():
    with pytest.raises(VersionError, match="version 2: this program speaks version 1"):
        decode(changed("report", v=2)[0], Report)


def test_a_message_above_its_limit_is_not_looked_at():
    with pytest.raises(MessageError, match="at most 4194304 are accepted"):
        decode(b"\x80" * (LIMITS["report"] + 1), Report)


# --- mutations ------------------------------------------------------------------------------------------------------

BYTES = bytes([0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xC0, 0xC1, 0xC2, 0xC4, 0xC6, 0xC7, 0xCA, 0xCB, 0xCC, 0xCF,
               0xD3, 0xD4, 0xD9, 0xDB, 0xDC, 0xDD, 0xDE, 0xDF, 0xE0, 0xFF])  # fmt: skip


def mutated(raw, rng):
    """A few random edits: single bits, whole bytes, msgpack's own markers, cuts, repeats, and swaps."""
    data = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(data)) if data else 0
        end = min(len(data), at + rng.randrange(1, 9))
        edit = rng.randrange(7)
        if edit == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif edit == 1 and data:
            data[at] = rng.randrange(256)
        elif edit == 2 and data:
            data[at] = rng.choice(BYTES)
        elif edit == 3:
            data[at:at] = bytes(rng.choice(BYTES) for _ in range(rng.randrange(1, 5)))
        elif edit == 4:
            del data[at:end]
        elif edit == 5:
            data[at:at] = data[at:end]
        elif rng.random() < 0.2:
            del data[at:]
        else:
            data[at:end] = bytes(rng.randrange(256) for _ in range(end - at))
    return bytes(data)


def test_a_hundred_thousand_mutations_decode_or_raise_the_one_error():
    rng = random.Random(20240229)
    sources = [*RAW.values()] * 3 + [(task().encode(), "task"), (screened(6).encode(), "task")]
    valid = 0
    peak = 0
    for number in range(100_000):
        raw, kind = sources[number % len(sources)]
        data = mutated(raw, rng)
        measured = number % 50 == 0  # tracing slows everything down tenfold
        if measured:
            tracemalloc.start()
        try:
            if kind == "task":
                assert isinstance(decode_task(data), Task)
            else:
                message = decode(data, KINDS[kind])
                assert same(decode(encode(message), KINDS[kind]), message)
            valid += 1
        except (MessageError, TaskError):
            pass
        finally:
            if measured:
                peak = max(peak, tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
    assert 1_000 < valid < 90_000  # both outcomes were tried
    assert peak < 2**20


def bomb(kind: str, what: str) -> bytes:
    """A message as long as its limit whose parts are as small as can be."""
    size = LIMITS[kind] - 100
    if (
        what == "nested"
    ):  # each list ends with the next one, so that none is complete before the last is
        entries = 64 if kind == "report" else 20_000
        level = b"\xdc" + entries.to_bytes(2, "big") + b"\xa2ab" * (entries - 1)
        return b"\x81\xa1v" + level * min(size // len(level), 500) + b"\x90"
    part = {"maps": b"\x80", "lists": b"\x90", "texts": b"\xa2ab", "numbers": b"\xcd\xff\xff"}[what]
    number = size // len(part)
    return b"\x81\xa1v\xdd" + number.to_bytes(4, "big") + part * number


@pytest.mark.parametrize("kind", ["report", "task", "active", "subspace"])
@pytest.mark.parametrize("what", ["maps", "lists", "texts", "numbers", "nested"])
def test_a_hostile_message_takes_little_more_memory_than_its_bytes(kind, what):
    raw = bomb(kind, what)
    tracemalloc.start()
    try:
        with pytest.raises(FsirError):
            decode_task(raw) if kind == "task" else decode(raw, KINDS[kind])
        assert tracemalloc.get_traced_memory()[1] < 2 * LIMITS[kind] + 2**22
    finally:
        tracemalloc.stop()


def test_a_message_of_many_fields_is_refused():
    with pytest.raises(MessageError, match="too many parts"):
        unpack(msgpack.packb({str(i): i for i in range(60_000)}))


def test_identities_and_topics():
    raw = RAW["report"][0]
    assert report_id(raw) == report_id(bytes(raw))
    assert len(report_id(raw)) == 16
    assert report_id(raw) != report_id(raw + b"\0")
    assert topic("stairs", "task") == "fsir/1/stairs/task"
    assert topic("stairs", "report", "pi-7") == "fsir/1/stairs/report/pi-7"


def test_classifier_dimensions_follow_the_basis():
    message = decode(RAW["subspace"][0], Subspace)
    assert isinstance(message, Subspace)
    assert message.dimension == 2
    assert message.classifier is not None
    assert message.classifier.weights.shape == (2, message.dimension)
