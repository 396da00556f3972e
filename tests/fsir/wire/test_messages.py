"""Messages survive the journey, and reports are small."""

from __future__ import annotations

import pytest

from fsir.limits import LIMITS
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace, encode, report_id, topic
from tests.fsir.wire.samples import KINDS, MESSAGES, RAW, same


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_survive_the_journey(name):
    raw, kind = RAW[name]
    assert same(decode(raw, KINDS[kind]), MESSAGES[name])
    assert encode(decode(raw, KINDS[kind])) == raw
    assert len(raw) <= LIMITS[kind]


def test_a_final_report_is_small():
    assert len(RAW["report"][0]) < 300  # p = 10, H = 8: 143 values, 1144 bytes as float64


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
