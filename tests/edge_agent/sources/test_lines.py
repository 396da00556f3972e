"""Files of lines: no record twice, none invented, and the place is known again.

A damaged line costs itself alone, wherever reading starts and ends.
"""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.errors import SourceError
from edge_agent.records import START
from edge_agent.sources import lines, open_source
from edge_agent.sources.base import Options
from tests.edge_agent.sources.files import contents, drain, put, stored, write

DAMAGE = st.integers(0, 255) | st.sampled_from(list(b'",;\r\n\0 -e.'))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_file_can_be_left_and_resumed_after_any_record(tmp_path, kind):
    rows = [[k, k * 0.5, f"class {k % 3}"] for k in range(20)]
    path = write(tmp_path, kind, rows)
    whole = open_source(f"{kind}:{path}", Options())
    whole.resume(START)
    records = drain(whole, 7)
    assert [float(r.x["a"]) for r in records] == list(range(20))
    assert [r.position.ordinal for r in records] == list(range(20))
    assert whole.ended
    whole.close()
    for stop in range(20):
        rest = open_source(f"{kind}:{path}", Options())
        rest.resume(stored(records[stop].position))
        assert drain(rest, 3) == records[stop + 1 :]
        rest.close()
    several = open_source(f"{kind}:{path}", Options())
    for place in (records[12].position, records[5].position, START):
        several.resume(place)
    assert drain(several, 3) == records
    several.close()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_file_that_was_replaced_is_refused(tmp_path, kind):
    path = write(tmp_path, kind, [[k, 0.0, "a"] for k in range(9)])
    source = open_source(f"{kind}:{path}", Options())
    source.resume(START)
    at = drain(source)[4].position
    source.close()
    write(tmp_path, kind, [[k + 50, 0.0, "a"] for k in range(9)])
    other = open_source(f"{kind}:{path}", Options())
    with pytest.raises(SourceError, match="counted twice"):
        other.resume(at)
    other.close()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_following_a_file_that_grows_never_takes_half_a_line(tmp_path, kind):
    path = write(tmp_path, kind, [[k, 0.0, "a"] for k in range(3)])
    whole = path.read_bytes()
    path.write_bytes(b"")
    source = open_source(f"{kind}:{path}", Options(follow=True))
    source.resume(START)
    records = []
    with path.open("ab") as file:
        for k in range(0, len(whole), 5):
            file.write(whole[k : k + 5])
            file.flush()
            records += source.poll(10)
            assert not source.ended
    assert [float(r.x["a"]) for r in records] == [0, 1, 2]
    assert source.delay() > 0
    source.close()


def between(one, other):
    """What two lists have between what is the same at their beginnings and at their ends."""
    shorter = min(len(one), len(other))
    start = next((k for k in range(shorter) if one[k] != other[k]), shorter)
    one = one[start:]
    other = other[start:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return one, other


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@settings(max_examples=300, deadline=None)
@given(place=st.integers(0, 10_000), byte=DAMAGE)
def test_a_damaged_byte_costs_its_own_row_alone(tmp_path_factory, kind, place, byte):
    folder = tmp_path_factory.mktemp("damage")
    rows = [[k, k * 0.5, f'"class" {k % 3}' if k % 2 else "plain"] for k in range(30)]
    path = write(folder, kind, rows)
    raw = bytearray(path.read_bytes())
    whole = contents(open_source(f"{kind}:{path}", Options()))
    header = raw.index(b"\n") + 1 if kind == "csv" else 0
    at = header + place % (len(raw) - header)
    newline = raw[at] == 10
    raw[at] = byte
    lost, instead = between(whole, contents(open_source(f"{kind}:{put(path, raw)}", Options())))
    assert len(lost) <= 1 + newline  # a row that has lost its end is one with the next
    assert len(instead) <= 1 + (byte == 10)


def test_a_last_line_that_was_not_complete_is_one_record_all_the_same(tmp_path):
    path = put(tmp_path / "a.csv", b"a,y\n1,10\n2,2")
    source = open_source(f"csv:{path}", Options())
    source.resume(START)
    records = drain(source)
    assert [record.x["y"] for record in records] == ["10", "2"]
    put(path, b"a,y\n1,10\n2,25\n3,30\n")
    assert source.poll(10) == []  # it has ended
    source.close()
    again = open_source(f"csv:{path}", Options())
    again.resume(records[-1].position)
    assert [(record.position.ordinal, record.x["y"]) for record in drain(again)] == [(2, "30")]
    again.close()


CUTS = st.lists(st.integers(0, 200), min_size=1, max_size=4).map(sorted)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@settings(max_examples=200, deadline=None)
@given(cuts=CUTS, stop=st.integers(0, 12))
def test_wherever_a_first_run_ended_a_following_one_takes_whole_lines_and_each_once(
    tmp_path_factory, kind, cuts, stop
):
    """The first run takes half a line at the end of the file for a record.

    Its rest, whenever it comes, is none.
    """
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
    records = drain(later)
    for low, high in pairwise([*cuts, len(text)]):
        with path.open("ab") as file:
            file.write(text[low:high])
        records += drain(later)
    later.close()
    taken = at.ordinal + 1  # lines, the last of them maybe torn
    assert [int(record.x["a"]) for record in records] == [10 + k for k in range(taken, 12)]
    assert [float(record.x["b"]) for record in records] == [k + 0.75 for k in range(taken, 12)]
    assert [record.position.ordinal for record in records] == list(range(taken, 12))


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
    monkeypatch.setattr(lines, "LONGEST_BYTES", 65536)
    path = write(tmp_path, kind, [[k, 0.0, "a"] for k in range(9)])
    good = path.read_bytes().splitlines(keepends=True)
    text = b"".join([*good[:4], b"1" * 8_000_000 + b"\n", *good[4:], b"9" * 200_000])
    path.write_bytes(text)
    source = open_source(f"{kind}:{path}", Options(follow=follow))
    tracemalloc.start()
    source.resume(START)
    records = []
    while not source.ended and not (follow and source.delay()):
        records += source.poll(100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    if follow:  # the last one may still end
        assert len(records) == 10
        with path.open("ab") as file:
            file.write(b"9\n" + good[1])
        records += drain(source)
        assert float(records.pop().x["a"]) == float(records[1 if kind == "jsonl" else 0].x["a"])
    source.close()
    bad = [3 if kind == "csv" else 4, 10]
    assert [record.position.ordinal for record in records] == list(range(11))
    assert [k for k, record in enumerate(records) if not record.x] == bad
    assert "longer than" in caplog.text
    for stop in range(11):
        rest = open_source(f"{kind}:{path}", Options())
        rest.resume(stored(records[stop].position))
        again = []
        while not rest.ended:
            again += rest.poll(3)
        assert again[: 10 - stop] == records[stop + 1 :]
        rest.close()
