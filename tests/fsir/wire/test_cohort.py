"""Reports in shares and messages between aggregators: bytes that come back, or `MessageError`."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace

import msgpack
import pytest

from fsir.errors import MessageError
from fsir.limits import LIMITS, MOST_IN_COHORT
from fsir.wire.cohort import (
    Answer,
    Declined,
    Heading,
    Proposal,
    decode_cohort,
    encode_cohort,
)
from fsir.wire.shared import Shared, decode_shared, encode_shared
from tests.system.hostile.mutations import Mutator

MUTATIONS = 50_000
DIGEST = bytes(range(32))
HEADING = Heading(task=DIGEST, stage="final", number=3, group=2)
IDS = tuple(bytes([i]) * 16 for i in range(1, 6))
COHORT = {
    "proposal": Proposal(HEADING, IDS),
    "proposal of a later round": Proposal(replace(HEADING, round=7, group=0), IDS[:1]),
    "answer": Answer(HEADING, IDS[1:], bytes(range(200))),
    "declined": Declined(HEADING, "4 reports: at least 5 are opened together"),
}
SHARED = Shared(
    task=DIGEST,
    device="pi-7",
    stage="screening",
    id=b"i" * 16,
    n=100,
    leader=bytes(100),
    helper=bytes(80),
)


def sign(raw):
    """A signature for tests: who can make it matters elsewhere."""
    return hashlib.sha512(raw).digest()


def verify(role, raw, signature):
    return role in ("leader", "helper") and signature == sign(raw)


def trusting(role, raw, signature):
    """As if every signature held, so that what is behind it is tried as well."""
    return True


@pytest.mark.parametrize("name", COHORT)
def test_a_signed_message_comes_back(name):
    raw = encode_cohort(COHORT[name], sign)
    assert decode_cohort(raw, verify) == COHORT[name]
    assert encode_cohort(decode_cohort(raw, verify), sign) == raw


def test_a_report_in_shares_comes_back_and_does_not_name_the_first_round():
    later = SHARED._replace(round=2)
    for message in (SHARED, later):
        assert decode_shared(encode_shared(message)) == message
    assert "round" not in msgpack.unpackb(encode_shared(SHARED))
    assert b"round" in encode_shared(later)


@pytest.mark.parametrize(
    "change",
    [
        {"task": bytes(31)},
        {"device": "a/b"},
        {"stage": "middle"},
        {"id": bytes(15)},
        {"n": 0},
        {"n": 2**25},
        {"leader": bytes(47)},
        {"helper": "text"},
        {"round": 1},
        {"round": 10_001},
        {"extra": 1},
        {"kind": "report"},
    ],
)
def test_every_field_of_a_report_in_shares_is_checked(change):
    table = msgpack.unpackb(encode_shared(SHARED)) | change
    with pytest.raises(MessageError):
        decode_shared(msgpack.packb(table))


def envelope(**changes):
    """The bytes of the proposal with other fields in it, signed as they should be."""
    table = msgpack.unpackb(encode_cohort(COHORT["proposal"], sign))
    body = msgpack.unpackb(table["body"]) | changes
    packed = msgpack.packb({key: value for key, value in body.items() if value is not None})
    signed = b"fsir cohort message\0leader\0" + packed
    return msgpack.packb(table | {"body": packed, "signature": sign(signed)})


@pytest.mark.parametrize(
    "change",
    [
        {"ids": b""},
        {"ids": bytes(17)},
        {"ids": bytes(32)},  # one id twice
        {"ids": IDS[1] + IDS[0]},
        {"ids": [IDS[0]]},
        {"number": 0},
        {"group": -1},
        {"group": 1000},
        {"round": 1},
        {"stage": "none"},
        {"task": None},
        {"total": b"x"},
        {"message": "open"},
        {"message": "declined", "ids": None, "reason": "the leader declines nothing"},
        {"ids": b"".join(i.to_bytes(16, "big") for i in range(MOST_IN_COHORT + 1))},
    ],
)
def test_every_field_of_a_cohort_message_is_checked(change):
    assert decode_cohort(envelope(), verify) == COHORT["proposal"]
    with pytest.raises(MessageError):
        decode_cohort(envelope(**change), verify)


def test_the_largest_cohort_fits_and_a_longer_message_is_not_looked_at():
    ids = tuple(i.to_bytes(16, "big") for i in range(MOST_IN_COHORT))
    full = Answer(HEADING, ids, bytes(4 * 2**20))
    assert decode_cohort(encode_cohort(full, sign), verify) == full
    for decode in (decode_shared, lambda raw: decode_cohort(raw, verify)):
        with pytest.raises(MessageError, match="at most"):
            decode(bytes(LIMITS["cohort"] + 1))


def test_nothing_is_believed_under_a_wrong_signature_or_another_name():
    raw = encode_cohort(COHORT["answer"], sign)
    table = msgpack.unpackb(raw)
    for change in ({"signature": bytes(64)}, {"by": "leader"}, {"body": table["body"] + b"\0"}):
        with pytest.raises(MessageError, match="signature"):
            decode_cohort(msgpack.packb(table | change), verify)
    for change in ({"signature": bytes(63)}, {"by": "broker"}, {"body": b""}):
        with pytest.raises(MessageError):
            decode_cohort(msgpack.packb(table | change), trusting)


def test_hostile_bytes_decode_or_are_refused_and_nothing_else():
    corpus = [encode_shared(SHARED), *(encode_cohort(one, sign) for one in COHORT.values())]
    bodies = [msgpack.unpackb(raw)["body"] for raw in corpus[1:]]
    mutator = Mutator(random.Random(20), [*corpus, *bodies], limit=2**16)
    template = msgpack.unpackb(corpus[1])
    refused = 0
    for _ in range(MUTATIONS):
        raw = mutator.payload()
        inside = msgpack.packb(template | {"body": raw})
        for decode, payload in (
            (decode_shared, raw),
            (lambda made: decode_cohort(made, trusting), raw),
            (lambda made: decode_cohort(made, trusting), inside),
        ):
            try:
                decode(payload)
            except MessageError:
                refused += 1
    assert refused > 2.5 * MUTATIONS
