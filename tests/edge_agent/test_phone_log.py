"""What the owner of a phone reads in the log: what is ordinary once, and what to switch on in the app."""

from __future__ import annotations

from edge_agent.sources.phone_readings import ASIDE
from edge_agent.sources.tally import Tally
from tests.edge_agent.motion import recording
from tests.edge_agent.phones import messages, records_of


def test_what_every_android_phone_does_is_said_once(caplog):
    caplog.set_level("INFO")
    _, phone, _ = records_of(messages(*recording(20)))
    assert phone.tally.counts == {ASIDE: 2000}
    assert [record.levelname for record in caplog.records if ASIDE in record.getMessage()] == ["INFO"]


def test_what_is_more_than_ordinary_is_said_as_any_other_loss(caplog):
    caplog.set_level("INFO")
    tally = Tally("sensor", {"small": 2})
    for _ in range(9):
        tally.add("small")
    said = [(record.levelname, record.args[1]) for record in caplog.records]
    assert said == [("INFO", 1), ("WARNING", 4), ("WARNING", 8)]
