"""What is wrong with streams is said, and only then."""

from __future__ import annotations

import pytest

from sim_devices.own.cells import Cell
from sim_devices.own.frames import from_frame
from sim_devices.own.notes import about_people, about_streams
from sim_devices.own.setup import Roles, prepare
from sim_devices.scenarios.tasks import Setting, build
from tests.sim_devices.own.made_up import frame, records


def notes(rows, epsilon=1.0, records=None, tried=(), **roles):
    """All that is said of the streams of this table."""
    own = prepare(from_frame(frame(rows), "activity", "person"), Roles(**roles))
    n = records or own.longest
    setting = Setting(epsilon=epsilon, records=n)
    task = build(own.scenario.population, own.sample, setting)
    return list(about_streams(own, task, Cell(epsilon, len(own.devices), n), [n, *tried]))


def in_order(people=12, each=60):
    """Everybody rests first, then walks, then climbs."""
    turns = ("rest", "walk", "climb")
    return sorted(records(people, each), key=lambda row: (row[0], turns.index(row[-1])))


def test_nothing_is_said_of_streams_that_will_do():
    assert notes(records(), epsilon=8.0) == []
    assert notes(records(numeric=True), epsilon=20.0, slices=3) == []


def test_too_few_rows_for_the_noise():
    (note,) = notes(records(each=10), epsilon=1.0)
    assert note.startswith("too few rows: with 8 devices of 10 records, the noise of epsilon 1")
    assert "such devices" in note


def test_as_many_rows_as_were_asked_for_are_enough():
    (note,) = notes(records(each=20), epsilon=1.0)
    needed = int(note.partition("about ")[2].partition(" records a device")[0])
    assert needed > 20
    assert notes(records(each=needed), epsilon=1.0) == []


def test_a_class_that_the_first_records_miss():
    (note,) = notes(in_order(), epsilon=8.0, tried=(15, 30))
    assert note.startswith("records come in the order of their classes: ")
    assert "0 of 8 devices have any 'climb' among their first 30" in note
    assert "among their first 15 records" in note
    assert "raise records (all have met it after" in note


def test_of_the_devices_those_are_counted_that_have_met_it():
    rows = in_order()
    own = prepare(from_frame(frame(rows), "activity", "person"), Roles())
    lucky = [stream.device for stream in own.devices[:2]]  # for whom it comes first
    turned = [row for row in rows if row[0] in lucky][::-1]
    others = [row for row in rows if row[0] not in lucky]
    found = prepare(from_frame(frame([*others, *turned]), "activity", "person"), Roles())
    taking_part = len({stream.device for stream in found.devices} & set(lucky))
    (note,) = notes([*others, *turned], epsilon=8.0, records=25)
    assert f"{taking_part} of 8 devices have any 'climb' among their first 25 records" in note


def test_chance_is_not_taken_for_order():
    assert not [note for note in notes(records(), 8.0, tried=(3, 6, 12)) if "order" in note]


def test_a_class_that_is_rare():
    rows = records(each=80)
    kept = [row for k, row in enumerate(rows) if row[-1] != "climb" or k < 80 or k % 40 == 0]
    said = notes(kept, epsilon=8.0)
    rare = [note for note in said if "rare" in note]
    assert len(rare) == 1
    assert rare[0].startswith("class 'climb' is rare: ")
    climbing = rare[0].removeprefix("class 'climb' is rare: ").partition(" of ")[0]
    assert 0 < int(climbing) < 20


def test_streams_of_different_lengths():
    rows = [row for k, row in enumerate(records()) if row[0] != "person-07" or k % 2]
    own = prepare(from_frame(frame(rows), "activity", "person"), Roles())
    assert "person-07" in {stream.device for stream in own.devices}
    (note,) = notes(rows, epsilon=8.0)
    assert note.startswith("devices have 30 to 60 records (median 60), and all report after 60")


@pytest.mark.parametrize(
    ("error", "said"),
    [(None, "one unseen person"), (0.02, "standard error of 2.0 points (over people), that of")],
)
def test_few_people_leave_a_figure_uncertain(error, said):
    own = prepare(from_frame(frame(records()), "activity", "person"), Roles())
    (note,) = about_people(own, error, 0.015)
    assert said in note
    assert note.endswith("ask for more by unseen")


def test_many_people_who_agree_need_no_note():
    own = prepare(from_frame(frame(records(30, 30)), "activity", "person"), Roles())
    assert len(own.unseen) == 9
    assert list(about_people(own, 0.005, 0.005)) == []
