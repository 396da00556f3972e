"""Receipts of two aggregators: they say whose they are, and others have the bytes that they had."""

from __future__ import annotations

import msgpack
import pytest

from fsir.errors import MessageError
from fsir.task.secure import ROLES
from fsir.wire.decode import decode
from fsir.wire.messages import Receipt, Verdict, encode, receipt_topic

VERDICTS = {"final": Verdict(bytes(16), "counted")}


@pytest.mark.parametrize("role", ROLES)
def test_a_receipt_says_whose_it_is(role: str) -> None:
    receipt = Receipt(bytes(32), "pi-7", VERDICTS, bytes(16), role)
    assert decode(encode(receipt), Receipt) == receipt
    assert receipt_topic("walks", "pi-7", role).endswith("/helper") == (role == "helper")


def test_that_of_a_single_aggregator_does_not() -> None:
    raw = encode(Receipt(bytes(32), "pi-7", VERDICTS))
    assert "by" not in msgpack.unpackb(raw)
    assert decode(raw, Receipt).by == ""
    assert receipt_topic("walks", "pi-7") == "fsir/1/walks/receipt/pi-7"


@pytest.mark.parametrize("by", ["", "else", 1, None])
def test_anybody_else_is_refused(by: object) -> None:
    table = msgpack.unpackb(encode(Receipt(bytes(32), "pi-7", VERDICTS)))
    with pytest.raises(MessageError, match="by"):
        decode(msgpack.packb(table | {"by": by}), Receipt)
