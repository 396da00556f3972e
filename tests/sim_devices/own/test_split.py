"""Who is public, who takes part, who is asked: by order, by lot, or as told."""

from __future__ import annotations

import pytest

from fsir.errors import FsirError
from sim_devices.own.frames import from_frame
from sim_devices.own.responses import read_responses
from sim_devices.own.split import check_devices, draw_unseen, public_sample
from tests.sim_devices.own.made_up import frame, records


def rows_of(rows):
    return from_frame(frame(rows), "activity", "person")


def public_of(rows, named=(), slices=4):
    table = rows_of(rows)
    return public_sample(table, read_responses(table), named, slices)


def test_the_first_device_with_every_class_is_enough():
    people, sample = public_of(records())
    assert people == ("person-00",)
    assert len(sample.y) == 60


def test_as_many_as_needed_one_after_another():
    rows = [
        row
        for row in records()
        if not (row[0] == "person-00" and row[-1] == "climb")
        and not (row[0] == "person-01" and row[-1] != "rest")
    ]
    people, sample = public_of(rows)
    assert people == ("person-00", "person-01", "person-02")
    assert set(sample.y) == {"rest", "walk", "climb"}
    assert len(set(sample.groups.tolist())) == 3


def test_the_order_of_the_table_decides_and_not_the_names():
    rows = records()
    later = [row for row in rows if row[0] != "person-05"]
    people, _ = public_of([row for row in rows if row[0] == "person-05"] + later)
    assert people == ("person-05",)


def test_rows_that_cannot_be_used_do_not_count():
    rows = records(each=100)
    climbing = [row for row in rows if row[0] == "person-00" and row[-1] == "climb"]
    for row in climbing[:2]:
        row[1] = None
    people, sample = public_of([row for row in rows if row not in climbing[2:]])
    assert people == ("person-00", "person-01")
    assert "a" in sample.features
    assert sample.notes == ("of the public sample, 2 rows left out: a value is missing",)


def test_a_number_needs_two_records_in_every_slice():
    people, sample = public_of(records(people=8, each=10, numeric=True), slices=8)
    assert people == ("person-00", "person-01")
    assert sample.slicing.count == 8
    assert public_of(records(people=8, each=10, numeric=True), slices=5)[0] == ("person-00",)


def test_as_told():
    people, _ = public_of(records(), ("person-07", "person-03", "person-07"))
    assert people == ("person-07", "person-03")


def test_told_wrongly():
    with pytest.raises(FsirError, match=r"public='nobody': there is no such device"):
        public_of(records(), ("nobody",))
    everyone = tuple(f"person-{k:02d}" for k in range(10))
    with pytest.raises(FsirError, match="of 12 devices at most 9 can be public"):
        public_of(records(), everyone)
    rows = [row for row in records() if row[0] != "person-03" or row[-1] != "walk"]
    with pytest.raises(FsirError, match="lacks 2 records of class 'walk'; name more devices"):
        public_of(rows, ("person-03",))


def test_a_class_that_nearly_nobody_has_leaves_nobody_to_take_part():
    rows = [row for row in records() if row[-1] != "climb" or row[0] == "person-11"]
    with pytest.raises(FsirError, match="lack 2 records of class 'climb'") as error:
        public_of(rows)
    assert "leave the rows of that class out" in str(error.value)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (records(people=1), "1 device \\(person-00\\), and a federation takes at least 4"),
        (records(people=3), "3 devices"),
        (records(people=40, each=1), "40 rows are of 40 devices"),
    ],
)
def test_too_few_devices_or_too_many_are_refused(rows, said):
    with pytest.raises(FsirError, match=said) as error:
        check_devices(rows_of(rows))
    assert "by='person'" in str(error.value)


def test_four_devices_are_enough():
    check_devices(rows_of(records(people=4)))


@pytest.mark.parametrize(
    ("others", "share", "unseen"),
    [(3, 0.3, 1), (4, 0.3, 2), (5, 0.3, 2), (6, 0.0, 3), (10, 0.3, 3), (30, 0.3, 9), (10, 1.0, 8)],
)
def test_three_are_unseen_where_there_are_enough(others, share, unseen):
    names = [f"p{k}" for k in range(others)]
    drawn = draw_unseen(names, share, seed=1)
    assert len(drawn) == unseen
    assert set(drawn) <= set(names)
    assert list(drawn) == sorted(drawn, key=names.index)


def test_another_seed_draws_others():
    names = [f"p{k}" for k in range(40)]
    assert draw_unseen(names, 0.3, 1) == draw_unseen(names, 0.3, 1)
    assert draw_unseen(names, 0.3, 1) != draw_unseen(names, 0.3, 2)
