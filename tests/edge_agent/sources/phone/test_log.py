"""What the owner of a phone reads in the log: what is ordinary once, and what to switch on in the app."""

from __future__ import annotations

import pytest

from edge_agent.sources.phone.readings import ASIDE, NO_ACCELERATION, NO_ROTATION
from edge_agent.sources.tally import Tally
from tests.edge_agent.motion import recording
from tests.edge_agent.phones import messages, records_of


def test_what_every_android_phone_does_is_said_once(caplog):
    caplog.set_level("INFO")
    _, phone, _ = records_of(messages(*recording(20)))
    assert phone.tally.counts == {ASIDE: 2000}
    assert [record.levelname for record in caplog.records if ASIDE in record.getMessage()] == [
        "INFO"
    ]


def test_what_is_more_than_ordinary_is_said_as_any_other_loss(caplog):
    caplog.set_level("INFO")
    tally = Tally("sensor", {"small": 2})
    for _ in range(9):
        tally.add("small")
    said = [(record.levelname, record.args[1]) for record in caplog.records]
    assert said == [("INFO", 1), ("WARNING", 4), ("WARNING", 8)]


def without(sent, *names):
    """The messages of a phone with these sensors switched off."""
    return [
        {**one, "payload": [entry for entry in one["payload"] if entry["name"] not in names]}
        for one in sent
    ]


ACCELERATION = ("totalacceleration", "accelerometer", "gravity")


@pytest.mark.parametrize("total", [True, False])
@pytest.mark.parametrize(
    ("off", "kind", "remedy"),
    [
        (("gyroscope",), NO_ROTATION, "switch on Gyroscope"),
        (ACCELERATION, NO_ACCELERATION, "switch on Accelerometer and Gravity"),
    ],
)
def test_a_sensor_that_is_off_is_named_once(off, kind, remedy, total, caplog):
    sent = without(messages(*recording(60), total=total), *off)
    short, phone, _ = records_of(sent[:10], step=1.0)
    assert not phone.tally.counts[kind]
    found, phone, _ = records_of(sent, step=1.0)
    assert not short + found
    assert phone.tally.counts[kind] == 1
    assert [record.levelname for record in caplog.records if remedy in record.getMessage()] == [
        "WARNING"
    ]


@pytest.mark.parametrize("batch", [1.0, 20.0])
def test_sensors_that_take_turns_are_not_missed(batch):
    """In messages of their own, with others that hold neither; or one after the other in a long message."""
    sent = messages(*recording(60), batch=batch)
    if batch == 1.0:
        parts = [
            without([one], *off)[0] for one in sent for off in (("gyroscope",), (), ACCELERATION)
        ]
        parts[1::3] = without(parts[1::3], "gyroscope", *ACCELERATION)
        sent = [{**one, "messageId": k} for k, one in enumerate(parts)]
    _, phone, _ = records_of(sent, step=0.3)
    assert set(phone.tally.counts) == {ASIDE}


def test_a_single_reading_with_a_wrong_time_makes_no_sensor_missing():
    sent = without(messages(*recording(5)), "gyroscope")
    sent[2]["payload"][-1]["time"] += 3600 * 10**9
    _, phone, _ = records_of(sent)
    assert set(phone.tally.counts) <= {ASIDE}
