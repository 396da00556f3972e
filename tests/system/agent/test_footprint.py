"""What an agent costs its device; the figures come from benchmarks/agent_footprint.py."""

from __future__ import annotations

import pytest

from benchmarks import agent_footprint


@pytest.mark.slow
@pytest.mark.broker
def test_memory_stays_close_to_that_of_the_libraries_and_does_not_grow(mosquitto):
    figures = agent_footprint.run(rounds=2, records=200_000)
    assert figures["resident memory / bare import"] < 1.35
    assert figures["growth over a million records (MB)"] < 1.0
