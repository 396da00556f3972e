"""The one reader of whole tables: what is text is read, and everything else named with its line."""

from __future__ import annotations

import csv
import gzip
import io
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsir.errors import FsirError, TableError
from fsir.tables import files
from fsir.tables.csv_table import CsvTable, some

TEXT = "a,b,y\n1,2,x\n3,4,z\n"
ROWS = [["1", "2", "x"], ["3", "4", "z"]]


@pytest.fixture
def put(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refusal(path, **more):
    with pytest.raises(TableError) as caught:
        CsvTable.read(path, **more)
    return str(caught.value)


ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_table_is_the_same_however_it_was_saved(put, encoding, separator, end, packed):
    raw = TEXT.replace(",", separator).replace("\n", end).encode(encoding)
    table = CsvTable.read(put(gzip.compress(raw) if packed else raw))
    assert (table.header, table.rows, table.lines) == (["a", "b", "y"], ROWS, [2, 3])
    assert table.notes == ()


def outcome(path):
    """The table in a file, or why there is none; any other error is a fault of ours."""
    try:
        return CsvTable.read(path, "--data"), ""
    except FsirError as error:
        return None, str(error)


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=8),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_whatever_the_standard_library_writes_is_read_back(tmp_path_factory, rows, separator):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerow(["one", "two", "y"])
    writer.writerows(rows)
    path = tmp_path_factory.mktemp("any") / "t.csv"
    path.write_bytes(text.getvalue().encode("utf-8"))
    table, said = outcome(path)
    if table is None:
        # Decimal commas where the comma is free, or rows that come again: nothing else.
        known = ("decimal comma", "every row is there", "the header again")
        assert any(one in said for one in known)
    else:
        assert table.rows == rows


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet='ab",;\t|\r\n 1.5', max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused_with_their_file(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("bytes") / "t.csv"
    path.write_bytes(raw)
    table, said = outcome(path)
    if table is None:
        assert said.startswith(f"--data {path}: ")
    else:
        assert table.rows
        assert all(len(row) == len(table.header) for row in table.rows)
        assert len(set(table.header)) == len(table.header)
        assert table.lines == sorted(set(table.lines))


def test_line_ends_may_be_mixed_and_empty_lines_do_not_count(put):
    table = CsvTable.read(put("\n \na,b,y\r\n1,2,x\n\n3,4,z\r"))
    assert table.rows == ROWS
    assert table.lines == [4, 6]


def test_names_lose_the_spaces_around_them_and_values_keep_them(put):
    table = CsvTable.read(put(" a ,b, y\n1, 2,x \n3,4,z\n"))
    assert table.header == ["a", "b", "y"]
    assert table.values("y") == ["x ", "z"]


def test_a_text_in_quotes_may_go_on_in_the_next_line(put):
    table = CsvTable.read(put('a,b,y\n1,"two\nlines",x\n3,4,"x, ""y"""\n'))
    assert table.rows == [["1", "two\nlines", "x"], ["3", "4", 'x, "y"']]
    assert table.lines == [2, 4]


def test_a_name_with_the_wrong_separator_in_it_does_not_mislead(put):
    table = CsvTable.read(put("x, in m;y, in m;kind\n1;2;a\n3;4;b\n"))
    assert table.header == ["x, in m", "y, in m", "kind"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty: its first line should name the columns"),
        (b"\n \n", "is empty"),
        (b'""', "is empty"),
        (b",,\n1,2,3\n", "the first line should name the columns, and is empty"),
        (b"a,b,y\n", "has a header and no rows; give at least two records"),
        (b"1,2.5,-3\n4,5,6\n", "holds numbers alone (1, 2.5, -3); put a line with the names"),
        (b"a, a,y\n1,2,x\n", "columns 1 and 2: the header has 'a' more than once"),
        (b"7,7,y\n1,2,x\n", "(is it a record? The first line should name the columns)"),
        (b"a,b,\n1,2,x\n", "the header does not name column 3 of 3; name it"),
        (b",a,b\n0,2,x\n", "does not name column 1 of 3; name it, or take the column out (pandas"),
        (b"a,b,y\n1,2,x\na, b,y\n", "line 3 is the header again: were files joined?"),
        (b"a,b,y\n1,2,x\n1,2\n", "line 3 has 2 values, and the header names 3 columns"),
        (b"a,y\n1,5,2,5\n", "line 2 has 4 values, and the header names 2 columns; mend that line"),
        (b"a,y\n1,5,2,5\n", "Is there a decimal comma (write a point)"),
        (b'a,y\n1,"2\n3,4"\n5,"6\n7",8\n', "line 4 has 3 values"),
        (b'a,y\n1,"2\n3,4"\n5,"6\n7",8\n', "is a quote not closed?"),
        (b'a,y\n1,2\n3,"4\n5,6\n', "line 3: a text in quotes begins and does not end"),
        (b'a,y\n3,"4\n' + b"5,6\n" * 99999, "line 2: a text in quotes begins and does not end"),
        (b'a,y\n1,2\n3,"4"5\n', "line 3: text behind a closing quote"),
        (b"a;y\n1;2\n3,5;2\n", "line 3, column 'a': '3,5' has a decimal comma"),
        ("a,y\n1,2\n3,ü\n".encode("latin-1"), "line 3 holds the byte 0xfc, which is not UTF-8"),
        ("a,y\r1,2\r3,ü\r".encode("latin-1"), "line 3 holds the byte 0xfc"),
        (b"a,y\n1,2\n3\0,4\n5,6\n", "line 3 holds a NUL byte (0x00)"),
        ("a,y\n1,2\n".encode("utf-16")[:-1], "utf-16-le text, damaged at byte 16 of 17"),
        (gzip.compress(b"a,y\n1,2\n", mtime=0)[:-4], "a damaged gzip archive"),
        (b"PK\x03\x04" + b"\0" * 26 + b"xl/workbook.xml", "this is an Excel workbook (xlsx)"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(put, content, told):
    path = put(content)
    said = refusal(path, option="--data")
    assert said.startswith(f"--data {path}: ")
    assert told in said


def test_what_cannot_be_opened_is_named_with_what_was_meant(put, tmp_path):
    put(TEXT, "public.csv")
    assert "there is no such file; did you mean 'public.csv'?" in refusal(tmp_path / "pubic.csv")
    assert "give the path of a file" in refusal(tmp_path / "elsewhere.parquet")
    assert f"and no folder {tmp_path / 'no'}" in refusal(tmp_path / "no" / "public.csv")
    assert "is a folder; give a file in it, such as public.csv" in refusal(tmp_path)
    assert "Not a directory" in refusal(tmp_path / "public.csv" / "inner.csv")


def test_a_file_that_nobody_may_read_says_so(tmp_path, monkeypatch):
    def closed(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.Path, "open", closed)
    path = tmp_path / "t.csv"
    assert f"you may not read it; whoever owns it can say: chmod a+r {path}" in refusal(path)


def test_a_million_columns_are_refused_before_any_row_is_read(put):
    header = b",".join(b"c%d" % j for j in range(10**6))
    path = put(header + b"\n" + b"1" * 10**6)
    tracemalloc.start()
    said = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "names 1000000 columns, and a task has at most 20000 features" in said
    assert peak < 20 * len(header)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_is_too_large_is_refused_whatever_it_unpacks_to(put, packed, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 2**20)
    raw = TEXT.encode() + b"5,6,x\n" * 2**18
    said = refusal(put(gzip.compress(raw) if packed else raw))
    assert "holds more than 1 MiB; give a part of its rows" in said


def test_a_column_that_is_not_there_is_looked_for(put):
    table = CsvTable.read(put("time,Activity,mood\n1,2,x\n3,4,z\n"))
    table.require("--response", "Activity")
    table.require("--by", None)
    wanted = {
        "activty": "--response 'activty': the sample has no such column; did you mean 'Activity'?",
        "zzz": "--response 'zzz': the sample has no such column; it has time, Activity, mood",
    }
    for name, told in wanted.items():
        with pytest.raises(TableError) as caught:
            table.require("--response", name)
        assert str(caught.value) == told
    for content, told in {
        "5.1,3.5,setosa\n4.9,3.0,setosa\n": "is that a record? The first line should name",
        "a b y\n1 2 x\n": "its only column: is its separator another one",
    }.items():
        with pytest.raises(TableError) as caught:
            CsvTable.read(put(content)).require("--response", "class")
        assert told in str(caught.value)


def test_rows_without_a_response_are_counted_and_two_must_be_left(put):
    table = CsvTable.read(put("a,y\n1,x\n2,\n3, \n4,z\n"))
    answered, left_out = table.answered("y")
    assert left_out == 2
    assert answered.values("a") == ["1", "4"]
    assert answered.lines == [2, 5]
    alone = table.only([True, True, True, False])
    with pytest.raises(TableError, match="1 of 3 rows have a value in 'y'; give at least two rows"):
        alone.answered("y")


def numbered(count):
    return "".join(f"{k * 0.37},{k * k},x\n" for k in range(count))


def test_some_copies_are_noted_and_a_table_that_is_there_twice_is_refused(put):
    table = CsvTable.read(put("a,b,y\n" + numbered(30) + "0.0,0,x\n0.37,1,x\n"))
    assert table.notes == (
        "2 of 32 rows repeat earlier ones exactly (the first: line 32 repeats line 2); "
        "copies of a record make a sample look better than it is",
    )
    twice = refusal(put("a,b,y\n" + numbered(30) * 2))
    assert "every row is there twice (line 32 repeats line 2)" in twice
    thrice = refusal(put("a,b,y\n" + (numbered(30) + "0.0,0,x\n") * 3))
    assert "every row is there 3 times (line 32 repeats line 2)" in thrice


def test_few_different_values_come_again_by_themselves(put):
    rows = "".join(f"{k % 4},{k % 2},x\n" for k in range(40))
    assert len(CsvTable.read(put("a,b,y\n" + rows)).rows) == 40
    # ... also more often than twice each, as where everything was asked of everybody.
    rows = "".join(f"{k % 20},{k % 5},x\n" for k in range(80))
    table = CsvTable.read(put("a,b,y\n" + rows + "3,3,x\n"))
    assert "61 of 81 rows repeat earlier ones" in table.notes[0]


def test_a_few_of_many_names():
    assert some("abc") == "a, b, c"
