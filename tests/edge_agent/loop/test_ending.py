"""What a person is told when a source has ended too early."""

from __future__ import annotations

import pytest

from edge_agent.consent.admission import Feed
from edge_agent.loop.ending import shortfall
from tests.edge_agent.world import data, simulated
from tests.fsir.tasks import task


@pytest.mark.parametrize(
    ("feed", "advice"),
    [
        (Feed("csv:a"), "start again when there are more, or wait for them with --follow"),
        (Feed("iio:a", replayable=False), "is kept: start again when there are more"),
        (Feed("jsonl:-", replayable=False, stream="jsonl:-#1"), "offer all 100 in one run"),
    ],
)
def test_the_advice_fits_the_source(feed, advice):
    of = task()
    agent = simulated(of, feed=feed)
    X, y = data(of, 30)
    y[0] = "?"
    agent.learn_many(X, y)
    told = shortfall(agent, of, feed.replayable)
    assert "70 records are missing" in told
    assert "30 of 100 offered, 29 learned (not accepted: 1 unknown response)" in told
    assert told.endswith(advice)
