"""JSON that is short or legal and yet too much: it costs itself, and neither memory nor its neighbours."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from edge_agent.records import START
from edge_agent.sources import jsonl, open_source
from edge_agent.sources import mqtt_topic as mqtt
from edge_agent.sources.base import Options
from edge_agent.sources.jsonl import values_of
from edge_agent.sources.mqtt_topic import SensorTopic
from fsir.net.broker import Broker
from tests.edge_agent.sources.test_sources import drain, message


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
    found = values_of(json.dumps({"sensor": {"values": list(range(10_000))}}))
    assert len(found) == 10_000
    assert found["sensor.values.9999"] == 9999


def test_a_line_with_too_long_paths_is_counted_and_costs_itself_alone(
    tmp_path, caplog, monkeypatch
):
    monkeypatch.setattr(jsonl, "LONGEST_PATHS", 1000)
    path = tmp_path / "deep.jsonl"
    path.write_text(
        "".join(json.dumps(one) + "\n" for one in ({"a": 1}, {"k" * 100: [0] * 50}, {"a": [2]}))
    )
    source = open_source(f"jsonl:{path}", Options())
    source.resume(START)
    assert [dict(record.x) for record in drain(source)] == [{"a": 1}, {}, {"a.0": 2}]
    assert "1 lines not used" in caplog.text
    source.close()


def test_a_message_that_is_too_long_is_not_parsed_and_keeps_its_place(caplog, monkeypatch):
    monkeypatch.setattr(mqtt, "LONGEST", 100)
    source = SensorTopic("home/+", Options(broker=Broker("127.0.0.1", 9)))
    source._connection.step = lambda now: None
    source.resume(START)
    for what in ({"t": 1}, {"t": "x" * 100}, {"t": 3}):
        source._take(message(what))
    assert [(r.position.ordinal, dict(r.x)) for r in source.poll(10)] == [
        (0, {"t": 1}),
        (1, {}),
        (2, {"t": 3}),
    ]
    assert "1 readings not used" in caplog.text
    assert "the last one has 109 bytes" in caplog.text
