"""Whatever arrives decodes to a message or raises the one error."""

from __future__ import annotations

import random
import tracemalloc

import msgpack
import numpy as np
import pytest

from fsir.contract import decode_task
from fsir.errors import MessageError, TaskError, VersionError
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Report, encode
from tests.fsir.tasks import screened, task
from tests.fsir.wire.samples import KINDS, RAW, changed, same


def test_a_decoded_message_is_the_kind_of_its_topic():
    for raw, kind in RAW.values():
        for other in KINDS.keys() - {kind}:
            with pytest.raises(MessageError):
                decode(raw, KINDS[other])


DEEP: object = []
for _ in range(400):
    DEEP = [DEEP]


def each(name, key, *values):
    """The message with each of these values in a field."""
    return [changed(name, **{key: value}) for value in values]


def verdicts(*values):
    return [{"final": value} for value in values]


CLASSIFIER = msgpack.unpackb(RAW["subspace"][0])["classifier"]
ID = b"a" * 16
WRONG = [
    *each("report", "v", 2, "1", True, None),
    *each("report", "kind", "active"),
    *each("report", "extra", 1),
    *each("report", "n", 0, 2**26, 1.0),
    *each("report", "task", b"short", "x" * 32),
    *each("report", "device", "a/b", "#", "", "a" * 65),
    *each("report", "stage", "last", ["final"]),
    *each("report", "blocks", None, [], DEEP),
    *each("report", "blocks", [[1], [0], 0, b"\x80", b""]),
    *each("report", "blocks", [[1, 0, 0, 0], [0] * 4, 0, "a", b""]),
    *each("report", "blocks", [[2**31] * 4, [0] * 4, 0, b"\x80", b""]),
    *each("report", "blocks", [[1, 0, 0, 0], [2**60, 0, 0, 0], 0, b"\x80", b""]),
    *each("report", "votes", [[2, 2], b"\0"]),
    *each("votes", "votes", [[2, 2], b"\0\0"], [[4], b"\0"], [[2**20, 2**20], b"\0"], 3),
    *each("votes", "blocks", []),
    *each("receipt", "verdicts", [], {"third": [ID, "counted", ""]}),
    *each("receipt", "verdicts", *verdicts([b"a", "counted", ""], [ID, "ok", ""], DEEP)),
    *each("receipt", "verdicts", *verdicts([ID, "counted", "x" * 501], [ID, "counted", "\n"])),
    *each("receipt of one who asked", "instance", b"", b"n" * 15, "n" * 16),
    *each("ask", "instance", None, b"", b"n" * 17, "n" * 16, 3),
    *each("ask", "previous", b"", b"o" * 15, "o" * 16, []),
    *each("ask", "task", b"short"),
    *each("ask", "device", "a/b"),
    *each("ask", "stage", "final"),
    *each("active", "features", [], ["a", "a"], ["a", 1], "abc", ["a\0"]),
    *each("active", "devices", -1),
    *each("subspace", "basis", [[3, 2], b"\0" * 47], [[2, 3], b"\0" * 48], [[3, 0], b""]),
    *each("subspace", "basis", [[3, 2], np.full(6, np.nan).tobytes()], [[6], b"\0" * 48]),
    *each("subspace", "basis", [[3, 2], np.full(6, np.inf).tobytes()]),
    *each("subspace", "noise_level", float("nan"), -1.0, "0"),
    *each("subspace", "notes", ["x"] * 21),
    *each("subspace", "classifier", [], {}, DEEP, {b"a": 1, "b": 2, **CLASSIFIER}),
    *each("subspace", "classifier", {**CLASSIFIER, "bias": [[3], b"\0" * 24]}),
    *each("subspace", "classifier", {**CLASSIFIER, "temperature": 0.0}),
    *each("subspace", "classifier", {**CLASSIFIER, "temperature": float("nan")}),
    *each("subspace", "classifier", {**CLASSIFIER, "guess": 1.5}),
    *each("subspace", "classifier", {**CLASSIFIER, "doubtful": ["run"]}),
    *each("subspace", "classifier", {**CLASSIFIER, "centres": [[2, 1], b"\0" * 16]}),
    *each("subspace", "classifier", {**CLASSIFIER, "basis": [[2, 2], b"\0" * 32]}),
    *each("subspace", "expected_accuracy", -0.1, 1.1, "0.9", True),
    *each("presence", "online", 1),
    *each("presence", "device", 3, b"pi"),
    (b"", "report"),
    (b"\xc1", "report"),
    (msgpack.packb([1]), "report"),
    (msgpack.packb({1: 2}), "report"),
    (msgpack.packb({"v": 1, b"kind": 2}), "report"),
    (b"\x91" * 10_000, "report"),
    (b"\xdf\xff\xff\xff\xff", "report"),
    (b"\xc6\xff\xff\xff\xff", "report"),
    (msgpack.packb({"v": 1}) + b"\0", "report"),
    (b"\x81\xa1\xff\x01", "report"),
    (msgpack.packb({"v": msgpack.Timestamp(1)}), "report"),
    (b"x" * 257, "presence"),
    (b"x" * 257, "ask"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_whatever_is_wrong_raises_the_one_error(number):
    raw, kind = WRONG[number]
    with pytest.raises(MessageError) as caught:
        decode(raw, KINDS[kind])
    assert 5 < len(str(caught.value)) < 600


def test_another_version_is_told_apart():
    with pytest.raises(VersionError, match="version 2: this program speaks version 1"):
        decode(changed("report", v=2)[0], Report)


# --- mutations ------------------------------------------------------------------------------------

# Msgpack's own markers.
BYTES = bytes.fromhex("007f808f909fa0c0c1c2c4c6c7cacbcccfd3d4d9dbdcdddedfe0ff")


def mutated(raw, rng):
    """A few random edits: bits, bytes, markers of msgpack, cuts, repeats, and swaps."""
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


@pytest.mark.long
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
