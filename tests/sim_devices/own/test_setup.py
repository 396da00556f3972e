"""From a table to a scenario: nothing is chosen by what devices or unseen people have."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.errors import FsirError
from sim_devices.own.frames import from_frame
from sim_devices.own.setup import Roles, prepare
from sim_devices.scenarios.tasks import Setting, build
from tests.sim_devices.own.made_up import HEADER, frame, records


def own_of(rows, header=HEADER, **roles):
    return prepare(from_frame(frame(rows, header), "activity", "person"), Roles(**roles))


def test_everybody_has_one_role():
    own = own_of(records())
    population = own.scenario.population
    devices = [stream.device for stream in population.devices]
    unseen = [stream.device for stream in population.unseen]
    everyone = {f"person-{k:02d}" for k in range(12)}
    assert own.public == ("person-00",)
    assert tuple(unseen) == own.unseen
    assert len(devices) + len(unseen) + 1 == 12
    assert {*devices, *unseen, *own.public} == everyone
    assert own.longest == 60


def test_records_stay_in_their_order():
    rows = records()
    stream = own_of(rows).devices[0]
    mine = [row for row in rows if row[0] == stream.device]
    np.testing.assert_array_equal(stream.X, [row[1:5] for row in mine])
    assert stream.y.tolist() == [row[-1] for row in mine]


@pytest.mark.parametrize("numeric", [False, True])
def test_no_record_of_a_device_or_an_unseen_person_enters_the_task(numeric):
    rows = records(numeric=numeric)
    rng = np.random.default_rng(5)
    others = [
        row if row[0] == "person-00" else [row[0], *(9.0 * rng.normal(size=4)), row[-1]]
        for row in rows
    ]
    for row in others:  # a constant, a copy and gaps: of no consequence where they are not public
        if row[0] != "person-00":
            row[3] = 7.0
    tasks = []
    for table in (rows, others):
        own = own_of(table)
        tasks.append(build(own.scenario.population, own.sample, Setting(epsilon=1.0)))
    assert tasks[0].digest == tasks[1].digest
    assert tasks[0].features.names == ("a", "b", "c", "d")
    assert bool(tasks[0].response.cuts) == numeric


def test_features_are_left_out_by_what_is_public_and_with_the_reason():
    header = ("person", "a", "b", "still", "twice", "name", "gaps", "activity")
    rows = []
    for k, row in enumerate(records()):
        public = row[0] == "person-00"
        still = 5.0 if public else row[3]
        gap = None if public and k % 10 == 0 else row[4]
        rows.append([*row[:3], still, 3.0 - 2.0 * row[1], "text", gap, row[-1]])
    own = own_of(rows, header)
    assert own.scenario.population.features == ("a", "b")
    assert own.left_out == {
        "name": "not numbers: 'text' (in row 0)",
        "gaps": "missing in 6 of 60 rows",
        "still": "constant: always 5",
        "twice": "an exact copy of a, up to its unit: exact copies make directions meaningless",
    }
    assert f"column still left out: {own.left_out['still']}" in own.notes


def test_many_columns_that_are_left_out_are_told_by_kinds():
    header = ("person", "a", "b", *(f"s{k}" for k in range(6)), "name", "activity")
    rows = [[*row[:3], *([1.0] * 6), "text", row[-1]] for row in records()]
    notes = own_of(rows, header).notes
    assert "6 columns left out: constant (s0, s1, s2, s3, s4, s5)" in notes
    assert "1 column left out: not numbers (name)" in notes


def test_rows_with_gaps_on_devices_are_left_out_and_told():
    rows = records()
    for row in rows:
        if row[0] == "person-04" and row[-1] == "walk":
            row[2] = None
        if row[0] == "person-05":
            row[3] = "broken"
    own = own_of(rows)
    streams = {stream.device: stream for stream in own.scenario.population.everyone}
    assert "person-05" not in streams  # nothing is left of it
    assert set(streams["person-04"].y) == {"rest", "climb"}
    walking = sum(row[0] == "person-04" and row[-1] == "walk" for row in rows)
    told = f"{walking + 60} rows of other devices left out: a value is missing or no number"
    assert told in own.notes


def test_nobody_left_is_an_error_with_a_remedy():
    rows = records(people=5)
    for row in rows:
        if row[0] not in ("person-00", "person-01"):
            row[2] = None
    with pytest.raises(FsirError, match="only 1 devices beside the public ones") as error:
        own_of(rows)
    assert "features='A,B'" in str(error.value)


def test_features_that_were_named_must_be_usable():
    rows = records()
    for row in rows:
        row[2] = "warm"
    table = from_frame(frame(rows), "activity", "person", ("a", "b"))
    with pytest.raises(FsirError, match="features='b': it cannot be used, not numbers: 'warm'"):
        prepare(table, Roles())


def test_no_usable_feature_is_refused():
    rows = [[row[0], 1.0, 1.0, 1.0, "x", row[-1]] for row in records()]
    with pytest.raises(FsirError, match="no usable column of numbers beside activity: d \\(not"):
        own_of(rows)


def test_names_that_cannot_stand_in_a_topic_are_told():
    rows = [[row[0].replace("person-0", "zimmer/"), *row[1:]] for row in records()]
    own = own_of(rows)
    assert own.public == ("zimmer/0",)
    assert any("'zimmer/1' is zimmer-1" in note for note in own.notes)
    assert all("/" not in stream.device for stream in own.scenario.population.everyone)


def test_who_is_who_is_told():
    own = own_of(records())
    assert any(note.startswith("public, and no device: person-00 (the first") for note in own.notes)
    unseen = ", ".join(own.unseen)
    assert f"unseen, and no device: {unseen} (3 of 11 by lot)" in own.notes
    told = own_of(records(), public=("person-03",))
    assert "public, and no device: person-03 (as you say)" in told.notes


def test_whole_numbers_with_many_values_are_cut_at_quantiles_of_the_public_sample():
    rows = [[*row[:5], round(100 * row[-1])] for row in records(numeric=True)]
    own = own_of(rows, slices=4)
    public = [row[-1] for row in rows if row[0] == "person-00"]
    np.testing.assert_allclose(own.sample.cuts, np.quantile(public, [0.25, 0.5, 0.75]), rtol=1e-3)
    assert own.scenario.population.classes == ()
