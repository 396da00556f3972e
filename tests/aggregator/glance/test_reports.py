"""What is read at a glance is what a close look finds, and whatever is not so is left to that."""

from __future__ import annotations

import random

import msgpack
import pytest

from aggregator.glance.reports import Form
from fsir.errors import MessageError
from fsir.wire.messages import Report, encode
from fsir.wire.sealed import decode_sealed
from fsir.wire.unpack import unpack
from tests.fsir.wire.samples import DIGEST, integers

SIZES = (80, 8, 10, 45)
RECORDS = (900, 1000)
ROUNDS = 300
FORM = Form(DIGEST, "final", SIZES, RECORDS, ROUNDS)


def raw_of(device="pi-7", n=1000, round=1, shift=0, stage="final", task=DIGEST, sizes=SIZES):
    blocks = tuple(block + shift for block in integers(*sizes))
    report = Report(task=task, device=device, stage=stage, n=n, blocks=blocks, round=round)
    return encode(report)


def looked_at(raw, device="pi-7"):
    """The report, if nothing is wrong with it, or None."""
    try:
        report = decode_sealed(unpack(raw, "report"))
    except MessageError:
        return None
    belongs = (report.task, report.device, report.stage) == (DIGEST, device, "final")
    fits = report.packed is not None and report.packed.sizes == SIZES
    allowed = RECORDS[0] <= report.n <= RECORDS[1] and report.round <= ROUNDS
    return report if belongs and fits and allowed else None


@pytest.mark.parametrize("shift", [0, 100, -100, 30_000, -30_000, 2**31 - 100, -(2**31) + 100])
@pytest.mark.parametrize("round", [1, 2, 127, 128, 300])
def test_what_devices_send_is_read_as_a_close_look_reads_it(shift, round):
    for n in (900, 1000):
        raw = raw_of(n=n, round=round, shift=shift)
        assert FORM.read(raw, "pi-7") == looked_at(raw) is not None


@pytest.mark.parametrize("length", [1, 2, 31, 32, 63, 64])
def test_names_of_any_length_are_read(length):
    raw = raw_of("d" * length)
    report = FORM.read(raw, "d" * length)
    assert report is not None
    assert report.device == "d" * length
    assert FORM.read(raw, "d" * (length - 1)) is None
    assert FORM.read(raw, "d" * (length + 1)) is None


@pytest.mark.parametrize("count", [30, 300, 30_000])
def test_values_of_any_length_are_read(count):
    sizes = (count, 0, 0, 0)
    raw = raw_of(sizes=sizes)
    form = Form(DIGEST, "final", sizes, RECORDS, ROUNDS)
    assert form.read(raw, "pi-7") == decode_sealed(unpack(raw, "report"))


def test_the_form_may_hold_what_patterns_are_made_of():
    digest = bytes(b" #\n.*+?()[]{}|^$\\"[i % 17] for i in range(32))
    sizes = (32, 35, 42, 92)  # " ", "#", "*" and "\\"
    raw = raw_of(task=digest, sizes=sizes)
    form = Form(digest, "final", sizes, RECORDS, ROUNDS)
    assert form.read(raw, "pi-7") == decode_sealed(unpack(raw, "report"))


@pytest.mark.parametrize(
    "other",
    [
        {"device": "pi-8"},
        {"n": 899},
        {"n": 1001},
        {"round": 301},
        {"stage": "screening"},
        {"task": bytes(32)},
        {"sizes": (80, 8, 10, 46)},
        {"shift": 2**40},
    ],
)
def test_what_has_another_form_is_left_to_a_close_look(other):
    assert FORM.read(raw_of(**other), "pi-7") is None


def test_a_first_round_that_says_so_is_left_to_a_close_look():
    table = msgpack.unpackb(raw_of(round=2))
    for number in (0, 1, -1, 1001, True):
        raw = msgpack.packb({**table, "round": number})
        assert FORM.read(raw, "pi-7") is None
        assert looked_at(raw) is None


def changed_at_random(raw, rng):
    """Bytes with a few of them replaced, taken out or put in, mostly where fields are."""
    changed = bytearray(raw)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(130 if rng.random() < 0.4 else len(changed))
        taken = rng.randint(0, 4)
        changed[at : at + taken] = rng.randbytes(rng.choice((taken, rng.randint(0, 4))))
    return bytes(changed)


@pytest.mark.parametrize("round", [1, 2])
def test_whatever_is_changed_is_read_the_same_or_left_to_a_close_look(round):
    rng = random.Random(round)
    raw = raw_of(round=round)
    seen = 0
    for _ in range(20_000):
        changed = changed_at_random(raw, rng)
        report = FORM.read(changed, "pi-7")
        if report is not None:
            seen += 1
            assert report == looked_at(changed)
    assert seen > 100


def test_numbers_that_are_packed_in_more_bytes_than_they_need_are_numbers_all_the_same():
    raw = raw_of()
    longer = raw.replace(b"\xa1n\xcd\x03\xe8", b"\xa1n\xce\x00\x00\x03\xe8")
    assert longer != raw
    assert FORM.read(longer, "pi-7") == looked_at(longer) is not None
    assert FORM.read(longer, "pi-7") == FORM.read(raw, "pi-7")
