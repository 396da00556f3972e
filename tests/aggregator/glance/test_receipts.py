"""A receipt that is put together has the bytes of one that is written field by field."""

from __future__ import annotations

import itertools

from aggregator.glance import receipts
from fsir.wire.messages import STAGES, Receipt, Verdict, encode
from tests.fsir.wire.samples import DIGEST

ID = bytes(range(100, 116))
NUMBER = bytes(range(200, 216))


def test_a_receipt_has_the_bytes_of_one_that_is_written_field_by_field():
    devices = ("d", "pi-7", "d" * 31, "d" * 32, "d" * 64)
    rounds = (1, 2, 127, 128, 255, 256, 1000)
    told = itertools.product(devices, STAGES, rounds, (b"", NUMBER), ("", "leader", "helper"))
    for device, stage, round, number, by in told:
        verdict = Verdict(ID, "counted", round=round)
        receipt = Receipt(DIGEST, device, {stage: verdict}, number, by)
        written = receipts.counted(DIGEST, by, (device, stage, round), ID, number)
        assert written == encode(receipt)
