"""Files of lines: a damaged one costs itself alone, wherever reading starts and ends."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.errors import SourceError
from edge_agent.records import START, Position
from edge_agent.sources import lines, open_source
from edge_agent.sources.base import Options
from tests.edge_agent.sources.test_sources import drain, write


def put(path, content):
    path.write_bytes(content)
    return path


def contents(source):
    """The values of each record of a source that ends; it never raises."""
    source.resume(START)
    found = []
    while not source.ended:
        found += [dict(record.x) for record in source.poll(7)]
    source.close()
    return found


def between(one, other):
    """What two lists have between what is the same at their beginnings and at their ends."""
    start = next(
        (k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    one, other = one[start:], other[start:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return one, other


DAMAGE = st.integers(0, 255) | st.sampled_from(list(b'",;\r\n\0 -e.'))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@settings(max_examples=300, deadline=None)
@given(place=st.integers(0, 10_000), byte=DAMAGE)
def test_a_damaged_byte_costs_its_own_row_alone(tmp_path_factory, kind, place, byte):
    folder = tmp_path_factory.mktemp("damage")
    path = write(
        folder, kind, [[k, k * 0.5, f'"class" {k % 3}' if k % 2 else "plain"] for k in range(30)]
    )
    raw = bytearray(path.read_bytes())
    whole = contents(open_source(f"{kind}:{path}", Options()))
    header = raw.index(b"\n") + 1 if kind == "csv" else 0
    at = header + place % (len(raw) - header)
    newline = raw[at] == 10
    raw[at] = byte
    lost, instead = between(whole, contents(open_source(f"{kind}:{put(path, raw)}", Options())))
    assert len(lost) <= 1 + newline  # a row that has lost its end is one with the next
    assert len(instead) <= 1 + (byte == 10)


def test_a_stray_quote_costs_its_own_row_alone_also_in_a_file_that_grows_and_after_a_restart(
    tmp_path, caplog
):
    rows = [f"{k},{k}.5,x" for k in range(40)]
    rows[7], rows[20], rows[30] = '"7,7.5,x', '2"0,20.5,"x', "30,3\r0.5,x"
    text = "\n".join(["a,b,y", *rows, ""]).encode()
    path = put(tmp_path / "a.csv", b"")
    source = open_source(f"csv:{path}", Options(follow=True))
    source.resume(START)
    found = []
    with path.open("ab", buffering=0) as file:
        for k in range(0, len(text), 11):
            file.write(text[k : k + 11])
            found += source.poll(3)
    found += drain(source)
    source.close()
    assert [record.position.ordinal for record in found] == list(range(40))
    assert [k for k, record in enumerate(found) if not record.x] == [7, 20, 30]
    assert "2 rows not used: a quoted text does not end in its line" in caplog.text
    assert f"(the last one at byte {text.index(rows[7].encode())})" in caplog.text
    assert "carriage return" in caplog.text
    for stop in range(40):
        rest = open_source(f"csv:{path}", Options())
        rest.resume(found[stop].position)
        assert drain(rest, 3) == found[stop + 1 :]
        rest.close()


def test_texts_with_line_breaks_are_legal_and_not_read_and_the_log_says_so(tmp_path, caplog):
    path = put(tmp_path / "a.csv", b'a,b,y\n1,2,x\n3,"two\nlines",x\n5,6,"x, y"\n')
    found = contents(open_source(f"csv:{path}", Options()))
    assert [values for values in found if values] == [
        {"a": "1", "b": "2", "y": "x"},
        {"a": "5", "b": "6", "y": "x, y"},
    ]
    assert "texts with line breaks cannot be read" in caplog.text
    assert "another number of fields" in caplog.text


def test_a_last_line_that_was_not_complete_is_one_record_all_the_same(tmp_path):
    path = put(tmp_path / "a.csv", b"a,y\n1,10\n2,2")
    source = open_source(f"csv:{path}", Options())
    source.resume(START)
    found = drain(source)
    assert [record.x["y"] for record in found] == ["10", "2"]
    put(path, b"a,y\n1,10\n2,25\n3,30\n")
    assert source.poll(10) == []  # it has ended
    source.close()
    again = open_source(f"csv:{path}", Options())
    again.resume(found[-1].position)
    assert [(record.position.ordinal, record.x["y"]) for record in drain(again)] == [(2, "30")]
    again.close()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@settings(max_examples=200, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 200), min_size=1, max_size=4).map(sorted), stop=st.integers(0, 12)
)
def test_wherever_a_first_run_ended_a_following_one_takes_whole_lines_and_each_once(
    tmp_path_factory, kind, cuts, stop
):
    """The first run takes half a line at the end of the file for a record: its rest, whenever it comes, is none."""
    folder = tmp_path_factory.mktemp("torn")
    text = write(folder, kind, [[10 + k, f"{k}.75", "x"] for k in range(12)]).read_bytes()
    path = put(folder / f"grows.{kind}", text[: cuts[0]])
    first = open_source(f"{kind}:{path}", Options())
    first.resume(START)
    known = drain(first)
    first.close()
    at = known[min(stop, len(known) - 1)].position if known else START
    later = open_source(f"{kind}:{path}", Options(follow=True))
    later.resume(at)
    found = drain(later)
    for low, high in pairwise([*cuts, len(text)]):
        with path.open("ab") as file:
            file.write(text[low:high])
        found += drain(later)
    later.close()
    taken = at.ordinal + 1  # lines, the last of them maybe torn
    assert [int(record.x["a"]) for record in found] == [10 + k for k in range(taken, 12)]
    assert [float(record.x["b"]) for record in found] == [k + 0.75 for k in range(taken, 12)]
    assert [record.position.ordinal for record in found] == list(range(taken, 12))


@pytest.mark.parametrize("how", ["replaced", "deleted", "cut off", "led elsewhere"])
def test_a_followed_file_that_loses_its_place_is_said_once_and_nothing_is_made_up(
    tmp_path, how, caplog
):
    path = write(tmp_path, "csv", [[k, 0.5, "x"] for k in range(9)])
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    source = open_source(f"csv:{link}", Options(follow=True))
    source.resume(START)
    assert len(drain(source)) == 9
    assert not caplog.text
    other = put(tmp_path / "other.csv", b"a,b,y\n7,7,z\n")
    if how == "replaced":
        other.replace(path)
    elif how == "deleted":
        path.unlink()
    elif how == "led elsewhere":
        link.unlink()
        link.symlink_to(other)
    else:
        path.write_bytes(b"")
    assert [source.poll(5) for _ in range(3)] == [[], [], []]
    assert caplog.text.count("restart the agent") == 1
    assert how.split()[0] in caplog.text or how == "led elsewhere"
    if how == "cut off":  # grown past our place: what is there is the middle of something else
        write(tmp_path, "csv", [[100 * k, 0.5, "another"] for k in range(40)])
    assert source.poll(5) == []
    assert source.delay() > 0
    source.close()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("follow", [False, True])
def test_a_line_that_is_too_long_is_skipped_with_little_memory(
    tmp_path, kind, follow, monkeypatch, caplog
):
    monkeypatch.setattr(lines, "LONGEST", 65536)
    path = write(tmp_path, kind, [[k, 0.0, "a"] for k in range(9)])
    good = path.read_bytes().splitlines(keepends=True)
    text = b"".join([*good[:4], b"1" * 8_000_000 + b"\n", *good[4:], b"9" * 200_000])
    path.write_bytes(text)
    source = open_source(f"{kind}:{path}", Options(follow=follow))
    tracemalloc.start()
    source.resume(START)
    found = []
    while not source.ended and not (follow and source.delay()):
        found += source.poll(100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    if follow:  # the last one may still end
        assert len(found) == 10
        with path.open("ab") as file:
            file.write(b"9\n" + good[1])
        found += drain(source)
        assert float(found.pop().x["a"]) == float(found[1 if kind == "jsonl" else 0].x["a"])
    source.close()
    bad = [3 if kind == "csv" else 4, 10]
    assert [record.position.ordinal for record in found] == list(range(11))
    assert [k for k, record in enumerate(found) if not record.x] == bad
    assert "longer than" in caplog.text
    for stop in range(11):
        rest = open_source(f"{kind}:{path}", Options())
        rest.resume(Position(stop, json.loads(json.dumps(found[stop].position.cursor))))
        again = []
        while not rest.ended:
            again += rest.poll(3)
        assert again[: 10 - stop] == found[stop + 1 :]
        rest.close()


@pytest.mark.parametrize(
    ("header", "reason"),
    [(b'a,"b,y\n', "does not end in its line"), (b"a,b\r1,2\r", "carriage return"), (b"\xef\xbb\xbf\n1\n", "is empty"),
     (b"a" * 5_000_000, "longer than 4194304 bytes")],
)  # fmt: skip
def test_without_a_header_nobody_knows_the_columns(tmp_path, header, reason):
    source = open_source(f"csv:{put(tmp_path / 'a.csv', header)}", Options())
    with pytest.raises(SourceError, match=reason):
        source.resume(START)
    source.close()


def test_a_time_column_that_is_not_there_is_refused_or_said(tmp_path, caplog):
    path = write(tmp_path, "csv", [[1, 2, "x"]])
    source = open_source(f"csv:{path}", Options(time_column="when"))
    with pytest.raises(
        SourceError, match=r"--time-column when: .* has no such column, but 'a, b, y'"
    ):
        source.resume(START)
    source.close()
    path = write(
        tmp_path, "jsonl", [[1, 2, "x"], [3, 4, "x"]]
    )  # whose lines need not have the same names
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
