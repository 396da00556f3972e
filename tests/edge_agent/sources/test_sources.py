"""Sources: no record twice, none invented, and the place found again."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.errors import SourceError
from edge_agent.records import START, Position
from edge_agent.sources import jsonl, open_source
from edge_agent.sources.base import Options
from edge_agent.sources.jsonl import StandardInput, values_of
from edge_agent.sources.mqtt_topic import SensorTopic
from fsir.net.broker import Broker
from tests.edge_agent.files import drain, write


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_file_can_be_left_and_found_again_after_any_record(tmp_path, kind):
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
        at = records[stop].position
        stored = Position(at.ordinal, json.loads(json.dumps(at.cursor)))
        rest = open_source(f"{kind}:{path}", Options())
        rest.resume(stored)
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
    found = []
    with path.open("ab") as file:
        for k in range(0, len(whole), 5):
            file.write(whole[k : k + 5])
            file.flush()
            found += source.poll(10)
            assert not source.ended
    assert [float(r.x["a"]) for r in found] == [0, 1, 2]
    assert source.delay() > 0
    source.close()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.lists(st.text(alphabet='ab",;\té ', max_size=6), min_size=2, max_size=2), max_size=12
    )
)
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
        {"a": "1", "b": "2", "y": "x"}, {}, {}, {"a": "9", "b": "9", "y": "z"},
    ]  # fmt: skip
    source.close()


def test_json_in_depth():
    assert values_of('{"a": {"b": {"c": 1}}, "d": [5, {"e": 6}], "f": "x"}') == {
        "a.b.c": 1, "d.0": 5, "d.1.e": 6, "f": "x",
    }  # fmt: skip
    for nonsense in (
        "",
        "[1, 2]",
        "{",
        "3",
        "null",
        b"\xff\xfe",
        "[" * 100_000,
        '{"a": ' * 50_000,
        "1" * 10_000,
    ):
        assert values_of(nonsense) == {}


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


def test_standard_input_skips_a_line_that_is_too_long(monkeypatch, caplog):
    monkeypatch.setattr(jsonl, "LONGEST", 100_000)
    read, write_end = os.pipe()
    source = StandardInput(read)
    found = []
    for piece in (b'{"a": 1}\n', *[b'{"a": 0}' * 4000] * 20, b'{"a": 8}\n{"a": 2}\n'):
        os.write(write_end, piece)
        found += drain(source)
    os.close(write_end)
    assert [record.x["a"] for record in found + drain(source)] == [1, 2]
    assert caplog.text.count("longer than") == 1
    source.close()
    os.close(read)


def message(payload, retain=False, dup=False, about="home/kitchen"):
    return SimpleNamespace(
        topic=about, payload=json.dumps(payload).encode(), retain=retain, dup=dup
    )


@pytest.fixture
def sensor():
    def make(**options):
        source = SensorTopic("home/+", Options(broker=Broker("127.0.0.1", 9), **options))
        source._connection.step = lambda now: (
            None
        )  # nobody listens there; messages are handed over directly
        return source

    return make


def test_sensor_messages_that_are_retained_or_repeated_are_ignored(sensor):
    source = sensor()
    source.resume(Position(9))
    for what in (
        message({"t": 1}),
        message({"t": 2}, retain=True),
        message({"t": 3}, dup=True),
        message({"t": 4}),
    ):
        source._take(what)
    assert [(r.position.ordinal, r.x["t"]) for r in source.poll(10)] == [(10, 1), (11, 4)]


def test_a_reading_with_an_identity_counts_once_also_after_a_restart(sensor):
    source = sensor(record_id="meta.seq")
    source.resume(START)
    for seq in (1, 2, 2, 1, 3):
        source._take(message({"meta": {"seq": seq}}))
    source._take(message({"meta": {"seq": 1}}, about="home/cellar"))
    found = source.poll(10)
    assert [r.x["meta.seq"] for r in found] == [1, 2, 3, 1]
    again = sensor(record_id="meta.seq")
    again.resume(
        Position(found[-1].position.ordinal, json.loads(json.dumps(found[-1].position.cursor)))
    )
    for seq in (3, 4):
        again._take(message({"meta": {"seq": seq}}))
    assert [(r.position.ordinal, r.x["meta.seq"]) for r in again.poll(10)] == [(4, 4)]


def test_a_flood_is_dropped_and_said(sensor, caplog):
    source = sensor()
    source.resume(START)
    for k in range(10_010):
        source._take(message({"t": k}))
    assert "too slow for its sensors" in caplog.text
    assert len(drain(source)) == 10_000


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("data.csv", "schemes: csv, jsonl, mqtt, iio, sensorlogger, signals"),
        ("csv:", "scheme:rest"),
        ("tape:1", "no scheme 'tape'"),
        ("csv:/nowhere/at/all.csv", "No such file"),
        ("mqtt:a/#/b", "not a valid topic filter"),
        ("mqtt:a", "--source-broker"),
    ],
)
def test_mistakes_are_named(address, reason):
    options = Options(broker=Broker("127.0.0.1", 9)) if "#" in address else Options()
    with pytest.raises(SourceError, match=reason):
        open_source(address, options)


def test_others_can_add_a_source(monkeypatch):
    import importlib.metadata

    class Dice:
        def __init__(self, rest, options):
            self.rest = rest

    point = SimpleNamespace(name="dice", load=lambda: Dice)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group, name=None: [point])
    assert open_source("dice:6", Options()).rest == "6"


def test_no_source_imports_more_than_a_device_has():
    code = """
import sys
from importlib import import_module
from edge_agent.sources import SCHEMES
for place in SCHEMES.values():
    import_module(place.partition(":")[0])
heavy = {"scipy", "pandas", "river", "sklearn", "matplotlib", "aggregator", "sim_devices"} & {
    name.split(".")[0] for name in sys.modules}
sys.exit(f"imported: {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
