"""A shared subscription is proven by a message to oneself, and by nothing else."""

from __future__ import annotations

import logging

import pytest

from aggregator.mqtt.proof import AGAIN_SECONDS, CHECK_SECONDS, PATIENCE_SECONDS, ShareProof
from aggregator.publication import Publication


@pytest.fixture
def proof() -> ShareProof:
    made = ShareProof("many", "worker/+#1", "walks")
    made.connected(100.0)
    return made


def probe_of(proof: ShareProof, now: float) -> Publication:
    """The message that is due."""
    (probe,) = proof.due(now)
    return probe


def test_nothing_is_proven_before_the_number_of_this_connection_is_back(proof: ShareProof) -> None:
    probe = probe_of(proof, 100.0)
    assert proof.subscription == f"$share/many/{probe.topic}"
    assert not set(probe.topic) & set("+#")
    assert not probe.retain
    assert not proof.take("fsir/1/walks/report/d0", probe.payload, 100.1)
    assert proof.take(probe.topic, b"something else", 100.1)
    assert "delivers nothing" in proof.trouble
    assert proof.take(probe.topic, probe.payload, 100.2)
    assert proof.trouble == ""
    proof.connected(200.0)
    assert proof.trouble
    assert proof.take(probe.topic, probe.payload, 200.1)  # of the connection before
    assert proof.trouble


def test_a_broker_that_delivers_nothing_is_told_of_once_and_tried_on(
    proof: ShareProof, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        numbers = {probe_of(proof, 100.0 + k * AGAIN_SECONDS).payload for k in range(20)}
    assert len(numbers) == 1
    (said,) = caplog.messages
    assert "leave --share out" in said
    assert PATIENCE_SECONDS + AGAIN_SECONDS < 30.0


def test_a_subscription_that_stops_to_deliver_is_found_out(proof: ShareProof) -> None:
    probe = probe_of(proof, 100.0)
    proof.take(probe.topic, probe.payload, 100.0)
    assert proof.due(100.0 + CHECK_SECONDS / 2) == []
    assert probe_of(proof, 100.0 + CHECK_SECONDS) == probe
    assert proof.trouble == ""
    late = 100.0 + CHECK_SECONDS + PATIENCE_SECONDS
    proof.due(late)
    assert proof.trouble
    proof.take(probe.topic, probe.payload, late + 1.0)
    assert proof.trouble == ""


def test_workers_have_topics_of_their_own() -> None:
    assert len({ShareProof("many", name, "walks").subscription for name in "abc"}) == 3
