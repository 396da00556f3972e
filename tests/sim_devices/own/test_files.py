"""Tables as they lie on a disk: one, or one for each device."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.errors import FsirError
from sim_devices.own.files import read_files
from tests.sim_devices.own.made_up import HEADER, records, write

ROWS = [
    ["p1", "1", "2.5", "x", "0", "walk"],
    ["p2", "", "3", "y", "1", "rest"],
    ["", "3", "4", "z", "0", "rest"],
    ["p1", "4", "NA", "7", "0", " walk "],
]


def test_every_row_says_of_which_device_it_is(tmp_path):
    rows = read_files([write(tmp_path / "my table.csv", ROWS)], "activity", "person")
    assert rows.name == "my-table"
    assert rows.devices == ["p1", "p2", "p1"]
    assert rows.responses == ["walk", "rest", "walk"]
    assert rows.notes == ("1 rows left out: person is empty",)
    assert list(rows.features) == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(rows.features["a"].values, [1.0, np.nan, 4.0])
    assert rows.features["a"].strange == {}


def test_a_value_that_is_no_number_leaves_the_others_what_they_are(tmp_path):
    rows = read_files([write(tmp_path / "t.csv", ROWS)], "activity", "person")
    np.testing.assert_array_equal(rows.features["c"].values, [np.nan, np.nan, 7.0])
    assert rows.features["c"].strange == {0: "x", 1: "y"}
    assert rows.where(2) == f"line 5 of {tmp_path / 't.csv'}"


def test_a_file_for_each_device_is_the_same_table(tmp_path):
    rows = records(people=4, each=5)
    whole = read_files([write(tmp_path / "all.csv", rows)], "activity", "person")
    paths = []
    folder = tmp_path / "phones"
    folder.mkdir()
    for name in dict.fromkeys(row[0] for row in rows):
        mine = [row[1:] for row in rows if row[0] == name]
        paths.append(write(folder / f"{name}.csv", mine, HEADER[1:]))
    # Another order of columns is the same table, too.
    turned = [[*row[1:][::-1]] for row in rows if row[0] == "person-03"]
    write(paths[3], turned, HEADER[1:][::-1])
    parts = read_files(paths, "activity")
    assert parts.name == "phones"
    assert parts.devices == whole.devices
    assert parts.responses == whole.responses
    for name in whole.features:
        np.testing.assert_array_equal(parts.features[name].values, whole.features[name].values)


def test_only_the_features_that_were_asked_for(tmp_path):
    path = write(tmp_path / "t.csv", records(4, 3))
    rows = read_files([path], "activity", "person", ("c", "a"))
    assert list(rows.features) == ["c", "a"]
    assert rows.strict


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mood", "person"), ["--response 'mood'", "person, a, b"]),
        (("activity", "owner"), ["--by 'owner'", "no such column"]),
        (("activity", "person", ("a", "z")), ["--features 'z'"]),
        (("activity", None), ["--by:", "one file for each device"]),
        (("activity", "activity"), ["'activity'", "twice"]),
        (("activity", "person", ("a", "person")), ["'person'", "twice"]),
    ],
)
def test_what_names_no_column_is_refused(arguments, said, tmp_path):
    path = write(tmp_path / "t.csv", records(4, 3))
    with pytest.raises(FsirError) as error:
        read_files([path], *arguments)
    for part in said:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no such file"),
        ("", "is empty: its first line should name the columns"),
        ("person,a,activity\n", "has a header and no rows"),
        ("person,a,activity\np1,1,walk\np2,2\n", "line 3 has 2 values"),
        ("person,a,a,activity\np1,1,2,walk\n", "more than once"),
    ],
)
def test_a_broken_table_is_refused_by_name(text, said, tmp_path):
    path = tmp_path / "t.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(FsirError) as error:
        read_files([path], "activity", "person")
    assert str(error.value).startswith(str(path))
    assert said in str(error.value)


def test_tables_of_different_columns_are_refused(tmp_path):
    one = write(tmp_path / "one.csv", records(1, 3))
    other = write(tmp_path / "other.csv", [["1", "walk"]], ["a", "activity"])
    with pytest.raises(FsirError, match=r"other\.csv: its columns are not those"):
        read_files([one, other], "activity")


def test_a_table_is_given_once(tmp_path):
    path = write(tmp_path / "t.csv", records(4, 3))
    (tmp_path / "more").mkdir()
    again = tmp_path / "more" / ".." / "t.csv"
    with pytest.raises(FsirError, match="is given twice; give each table once"):
        read_files([path, again], "activity", "person")


def test_two_files_of_one_name_are_not_one_device(tmp_path):
    paths = []
    for day in ("monday", "tuesday"):
        (tmp_path / day).mkdir()
        mine = [row[1:] for row in records(1, 5, seed=len(paths))]
        paths.append(write(tmp_path / day / "phone.csv", mine, HEADER[1:]))
    with pytest.raises(FsirError, match=r"would name the same device as .*monday.*; give files"):
        read_files(paths, "activity")


def test_rows_that_repeat_earlier_ones_are_told(tmp_path):
    rows = records(4, 5)
    path = write(tmp_path / "t.csv", [*rows, rows[0]])
    (note,) = read_files([path], "activity", "person").notes
    assert note.startswith(f"{path}: 1 of 21 rows repeat earlier ones exactly")
