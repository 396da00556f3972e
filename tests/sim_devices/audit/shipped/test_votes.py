"""Votes that do not come from noisy sums and noisy counts are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsir.wire.decode import decode
from fsir.wire.messages import Report, encode
from sim_devices.audit.shipped import cases
from sim_devices.audit.shipped.agent import through_agent
from sim_devices.audit.shipped.broken import BROKEN
from sim_devices.audit.shipped.judge import judge

CASE = cases.votes()


def odd(path, runs=100):
    _, faults = judge(path, CASE.task, CASE.streams, runs, np.random.default_rng())
    return [fault for fault in faults if "vote" in fault]


def test_the_votes_of_the_shipped_agent_are_right():
    assert odd(through_agent(CASE.task)) == []


def test_raw_votes_are_found():
    assert odd(BROKEN["raw-votes"](CASE.task))


@pytest.mark.parametrize("value", [False, True])
def test_votes_that_say_nothing_about_the_data_are_still_the_wrong_ones(value):
    path = through_agent(CASE.task)

    def publish(X, y):
        first, final = path(X, y)
        report = decode(first, Report)
        return [encode(replace(report, votes=np.full_like(report.votes, value))), final]

    assert odd(publish)
