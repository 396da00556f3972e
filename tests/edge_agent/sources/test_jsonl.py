"""`jsonl:`: values by their paths, short texts that are too much, and a pipe that is no file."""

from __future__ import annotations

import json
import os
import tracemalloc

import pytest

from edge_agent.records import START, Position
from edge_agent.sources import jsonl, open_source
from edge_agent.sources.base import Options
from edge_agent.sources.jsonl import StandardInput, values_of
from tests.edge_agent.sources.files import drain

NONSENSE = (
    "",
    "[1, 2]",
    "{",
    "3",
    "null",
    b"\xff\xfe",
    "[" * 100_000,
    '{"a": ' * 50_000,
    "1" * 10_000,
)


def test_json_in_depth():
    values = values_of('{"a": {"b": {"c": 1}}, "d": [5, {"e": 6}], "f": "x"}')
    assert values == {"a.b.c": 1, "d.0": 5, "d.1.e": 6, "f": "x"}
    for nonsense in NONSENSE:
        assert values_of(nonsense) == {}


@pytest.mark.parametrize("inner", [b"0,", b"[],", b'{"a":0},'])
def test_a_long_name_above_a_long_list_does_not_fill_the_memory(inner):
    """Written out, the paths of these 100 to 300 kB would have 900 million characters."""
    size = 30_000
    text = b'{"' + b"k" * size + b'":[' + inner * size + b"0]}"
    tracemalloc.start()
    try:
        assert values_of(text) == {}
        assert tracemalloc.get_traced_memory()[1] < 60 * 2**20
    finally:
        tracemalloc.stop()


def test_records_with_many_nested_values_are_taken():
    values = values_of(json.dumps({"sensor": {"values": list(range(10_000))}}))
    assert len(values) == 10_000
    assert values["sensor.values.9999"] == 9999


def test_a_line_with_too_long_paths_is_counted_and_costs_itself_alone(
    tmp_path, caplog, monkeypatch
):
    monkeypatch.setattr(jsonl, "LONGEST_PATHS", 1000)
    path = tmp_path / "deep.jsonl"
    lines = ({"a": 1}, {"k" * 100: [0] * 50}, {"a": [2]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    source = open_source(f"jsonl:{path}", Options())
    source.resume(START)
    assert [dict(record.x) for record in drain(source)] == [{"a": 1}, {}, {"a.0": 2}]
    assert "1 lines not used" in caplog.text
    source.close()


def test_standard_input_numbers_on_and_never_goes_back():
    read, write_end = os.pipe()
    source = StandardInput(read)
    source.resume(Position(41))
    assert source.poll(10) == []
    os.write(write_end, b'{"a": 1}\n{"a": 2}\n{"a"')
    first = source.poll(1)
    assert [(r.position.ordinal, r.x["a"]) for r in first] == [(42, 1)]
    assert source.delay() == 0.0
    assert [r.x["a"] for r in source.poll(10)] == [2]
    assert source.fileno() == read
    os.write(write_end, b": 3}")
    os.close(write_end)
    last = []
    while not source.ended:
        last += source.poll(10)
    assert [r.x["a"] for r in last] == [3]
    assert not source.replayable
    source.close()
    os.close(read)
    assert StandardInput.name == source.name != source.stream


def test_a_line_that_is_too_long_keeps_its_place_in_standard_input(monkeypatch, caplog):
    monkeypatch.setattr(jsonl, "LONGEST_BYTES", 100_000)
    read, write_end = os.pipe()
    source = StandardInput(read)
    records = []
    for piece in (b'{"a": 1}\n', *[b'{"a": 0}' * 4000] * 20, b'{"a": 8}\n{"a": 2}\n'):
        os.write(write_end, piece)
        records += drain(source)
    os.close(write_end)
    records += drain(source)
    assert [record.x.get("a") for record in records] == [1, None, 2]
    assert [record.fault for record in records] == ["", "unreadable", ""]
    assert caplog.text.count("longer than") == 1
    source.close()
    os.close(read)
