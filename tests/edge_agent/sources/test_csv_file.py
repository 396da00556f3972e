"""`csv:FILE`: rows as the standard library reads them, and a damaged one costs itself alone."""

from __future__ import annotations

import csv
import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.errors import SourceError
from edge_agent.records import START, Position
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.sources.csv_file import CsvFile
from tests.edge_agent.sources.files import contents, drain, put, stored, write

TEXTS = st.text(alphabet='ab",;\té ', max_size=6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), max_size=12))
def test_csv_agrees_with_the_standard_library(tmp_path_factory, rows):
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["one", "two", "y"])
    table.writerows([[*row, "label"] for row in rows])
    path = tmp_path_factory.mktemp("csv") / "any.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    source = open_source(f"csv:{path}", Options())
    source.resume(START)
    assert [[r.x["one"], r.x["two"]] for r in drain(source, 4)] == rows
    source.close()


def test_csv_with_other_separators_a_byte_order_mark_and_broken_rows(tmp_path):
    path = tmp_path / "german.csv"
    path.write_bytes("\ufeffa;b;y\r\n1;2;x\r\n\r\n3;4\r\n5;6;7;8\r\n9;9;z".encode())
    source = open_source(f"csv:{path}", Options())
    source.resume(START)
    assert [dict(r.x) for r in drain(source)] == [
        {"a": "1", "b": "2", "y": "x"},
        {},
        {},
        {"a": "9", "b": "9", "y": "z"},
    ]
    source.close()


def test_a_stray_quote_costs_its_own_row_alone_also_in_a_file_that_grows_and_after_a_restart(
    tmp_path, caplog
):
    rows = [f"{k},{k}.5,x" for k in range(40)]
    rows[7] = '"7,7.5,x'
    rows[20] = '2"0,20.5,"x'
    rows[30] = "30,3\r0.5,x"
    text = "\n".join(["a,b,y", *rows, ""]).encode()
    path = put(tmp_path / "a.csv", b"")
    source = open_source(f"csv:{path}", Options(follow=True))
    source.resume(START)
    records = []
    with path.open("ab", buffering=0) as file:
        for k in range(0, len(text), 11):
            file.write(text[k : k + 11])
            records += source.poll(3)
    records += drain(source)
    source.close()
    assert [record.position.ordinal for record in records] == list(range(40))
    assert [k for k, record in enumerate(records) if not record.x] == [7, 20, 30]
    assert "2 rows not used: a quoted text does not end in its line" in caplog.text
    assert f"(the last one at byte {text.index(rows[7].encode())})" in caplog.text
    assert "carriage return" in caplog.text
    for stop in range(40):
        rest = open_source(f"csv:{path}", Options())
        rest.resume(records[stop].position)
        assert drain(rest, 3) == records[stop + 1 :]
        rest.close()


def test_texts_with_line_breaks_are_legal_and_not_read_and_the_log_says_so(tmp_path, caplog):
    path = put(tmp_path / "a.csv", b'a,b,y\n1,2,x\n3,"two\nlines",x\n5,6,"x, y"\n')
    rows = contents(open_source(f"csv:{path}", Options()))
    assert [values for values in rows if values] == [
        {"a": "1", "b": "2", "y": "x"},
        {"a": "5", "b": "6", "y": "x, y"},
    ]
    assert "texts with line breaks cannot be read" in caplog.text
    assert "another number of fields" in caplog.text


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b'a,"b,y\n', "does not end in its line"),
        (b"a,b\r1,2\r", "carriage return"),
        (b"\xef\xbb\xbf\n1\n", "is empty"),
        (b"a" * 5_000_000, "longer than 4194304 bytes"),
    ],
)
def test_without_a_header_nobody_knows_the_columns(tmp_path, header, reason):
    source = open_source(f"csv:{put(tmp_path / 'a.csv', header)}", Options())
    with pytest.raises(SourceError, match=reason):
        source.resume(START)
    source.close()


def test_a_time_column_that_is_not_there_is_refused_or_said(tmp_path, caplog):
    path = write(tmp_path, "csv", [[1, 2, "x"]])
    source = open_source(f"csv:{path}", Options(time_column="when"))
    missing = r"--time-column when: .* has no such column, but 'a, b, y'"
    with pytest.raises(SourceError, match=missing):
        source.resume(START)
    source.close()
    # The lines of which need not have the same names:
    path = write(tmp_path, "jsonl", [[1, 2, "x"], [3, 4, "x"]])
    assert len(contents(open_source(f"jsonl:{path}", Options(time_column="when")))) == 2
    assert caplog.text.count("has no time under 'when'") == 1


@pytest.mark.parametrize("follow", [False, True])
def test_an_empty_table_is_said_once_unless_more_may_come(tmp_path, follow, caplog):
    source = open_source(f"csv:{put(tmp_path / 'a.csv', b'')}", Options(follow=follow))
    source.resume(START)
    source.resume(START)
    assert [source.poll(5) for _ in range(3)] == [[], [], []]
    assert caplog.text.count("is empty: its first line should name the columns") == (not follow)
    assert source.ended == (not follow)
    source.close()


def test_a_header_that_was_edited_in_place_is_noticed_and_refused(tmp_path):
    path = put(tmp_path / "a.csv", b"left,right,y\n" + b"".join(b"%d,2,x\n" % k for k in range(9)))
    source = open_source(f"csv:{path}", Options())
    source.resume(START)
    at = stored(drain(source)[4].position)
    source.close()
    raw = path.read_bytes()
    for header in (b"right,left,y\n", b"left,up,y\n"):
        put(path, header + raw.partition(b"\n")[2])
        other = open_source(f"csv:{path}", Options())
        with pytest.raises(SourceError, match=r"the header is not the one .* Bring the old header"):
            other.resume(at)
        other.close()
    put(path, raw)
    again = open_source(f"csv:{path}", Options())
    again.resume(at)
    assert [record.x["left"] for record in drain(again)] == ["5", "6", "7", "8"]
    again.close()


def test_a_position_of_the_first_version_opens_and_knows_no_header(tmp_path):
    path = write(tmp_path, "csv", [[k, 0.5, "x"] for k in range(9)])
    source = open_source(f"csv:{path}", Options())
    source.resume(START)
    known = drain(source)
    old = Position(known[4].position.ordinal, [*known[4].position.cursor[:3]])
    source.resume(old)
    assert drain(source) == known[5:]  # which note the header from now on
    assert all(len(record.position.cursor) == 4 for record in known)
    source.close()


def test_a_header_that_comes_again_is_a_row_that_cannot_be_used(tmp_path, caplog):
    path = put(tmp_path / "a.csv", b"\xef\xbb\xbfa,y\r\n1,x\r\na,y\r\n2,x\n")
    rows = contents(open_source(f"csv:{path}", Options()))
    assert rows == [{"a": "1", "y": "x"}, {}, {"a": "2", "y": "x"}]
    assert "1 rows not used: the header again (the last one at byte 13)" in caplog.text


def test_bytes_that_are_no_text_cost_their_value_alone_and_are_said(tmp_path, caplog):
    path = put(tmp_path / "a.csv", b"a,b,y\n1,2,x\n3,\xfc,x\n")
    rows = contents(open_source(f"csv:{path}", Options()))
    assert rows[1] == {"a": "3", "b": "\ufffd", "y": "x"}
    assert "1 rows with bytes that are not UTF-8" in caplog.text


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a,b,a\n1,2,3\n", "columns 1 and 3: the header has 'a' more than once"),
        (b"a,,y\n1,2,x\n", "the header does not name column 2 of 3"),
        (b"1,2,3\n4,5,6\n", "it holds numbers alone"),
        ("a,b,y\n1,2,x\n".encode("utf-16"), "this is UTF-16 text, and an agent reads UTF-8"),
        ("a,b,y\n1,2,x\n".encode("utf-16-be"), "convert it: iconv -f UTF-16-BE -t UTF-8"),
        ("gr\u00f6\u00dfe,y\n1,x\n".encode("latin-1"), "line 1 holds the byte 0xf6"),
        (b"\x1f\x8b\x08\x00", "this is a gzip archive, not a CSV file; unpack it: gunzip FILE"),
        (b"PK\x03\x04" + b"x" * 5_000_000 + b"xl/", "this is a zip archive, not a CSV file"),
        (b"a;y\n1;x\n2,5;x\n", "line 3, column 'a': '2,5' has a decimal comma"),
        (b"a\0,y\n1,x\n", "line 1 holds a NUL byte"),
    ],
)
def test_a_table_that_cannot_be_read_is_named_when_the_agent_starts(tmp_path, content, told):
    path = put(tmp_path / "a.csv", content)
    source = open_source(f"csv:{path}", Options())
    with pytest.raises(SourceError) as caught:
        source.resume(START)
    assert str(caught.value).startswith(f"{path}: ")
    assert told in str(caught.value)
    source.close()


def test_half_a_header_holds_nothing_and_ends(tmp_path, caplog):
    path = put(tmp_path / "a.csv", b"a,b,")
    source = open_source(f"csv:{path}", Options())
    source.resume(START)
    assert source.poll(5) == []
    assert source.ended
    assert caplog.text.count("it may not be complete, and no records follow") == 1
    source.close()


PIECES = ("a", "1.5", "-2e3", "", " ", "\t", ",", ",", ",", ";", '"', '""', "\r", "\x00", "\x0b")


@pytest.mark.parametrize("header", ["a", "a,b", "a,b,c,label", "a;b", "a\tb\tc"])
def test_what_is_plainly_a_row_has_the_values_that_the_csv_reader_finds(tmp_path, header):
    path = tmp_path / "rows.csv"
    path.write_text(f"{header}\n")
    source = CsvFile(str(path), Options())
    source.resume(START)
    drawn = random.Random(header)
    plain = 0
    for _ in range(3000):
        pieces = drawn.choices((*PIECES, "\x1c", "é", source._separator), k=drawn.randrange(1, 9))
        end = drawn.choice(("\n", "\r\n", ""))
        raw = ("".join(pieces) + end).encode()
        found = source._plain_values(raw) if raw.strip() else {}
        plain += bool(found)
        assert not found or found == source._values(raw, 0), raw
    source.close()
    assert plain > 20


def test_an_empty_line_of_a_single_column_is_no_record(tmp_path):
    path = tmp_path / "one.csv"
    path.write_bytes(b"a\n1\n\n \n\r\n2\n")
    source = CsvFile(str(path), Options())
    source.resume(START)
    records = source.poll(10)
    source.close()
    assert [record.x for record in records] == [{"a": "1"}, {"a": "2"}]
