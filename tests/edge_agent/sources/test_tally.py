"""What a source has lost: seen by the owner, and no flood."""

from __future__ import annotations

import logging

from edge_agent.sources.tally import Tally


def test_losses_are_said_at_powers_of_two(caplog):
    tally = Tally("sensor", {"small": 2})
    for _ in range(100):
        tally.add("losses")
    tally.add("small", 2)
    tally.add("none", 0)
    tally.add("many", 5)

    def said(kind):
        return [int(record.args[1]) for record in caplog.records if record.args[2] == kind]

    assert said("losses") == [1, 2, 4, 8, 16, 32, 64]
    assert said("many") == [5]
    assert said("none") == []
    assert tally.counts == {"losses": 100, "small": 2, "many": 5}
    small = [record for record in caplog.records if record.args[2] == "small"]
    assert all(record.levelno == logging.INFO for record in small)


def test_what_is_more_than_ordinary_is_said_as_any_other_loss(caplog):
    caplog.set_level("INFO")
    tally = Tally("sensor", {"small": 2})
    for _ in range(9):
        tally.add("small")
    said = [(record.levelname, record.args[1]) for record in caplog.records]
    assert said == [("INFO", 1), ("WARNING", 4), ("WARNING", 8)]
