"""`mqtt:TOPIC`: each reading once, whatever broker and sensor repeat."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from edge_agent.records import START, Position
from edge_agent.sources import mqtt_topic
from edge_agent.sources.base import Options
from edge_agent.sources.mqtt_topic import SensorTopic
from fsir.net.broker import Broker
from tests.edge_agent.sources.files import drain, stored


class Heard(SensorTopic):
    """A topic whose messages are handed over by the test: at its broker nobody listens."""

    def __init__(self, **options):
        super().__init__("home/+", Options(broker=Broker("127.0.0.1", 9), **options))
        self._subscription.step = lambda now: None

    def hear(self, payload, retain=False, dup=False, topic="home/kitchen"):
        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        message = SimpleNamespace(topic=topic, payload=raw, retain=retain, dup=dup)
        self._subscription.receive(message)


def test_sensor_messages_that_are_retained_or_repeated_are_ignored():
    source = Heard()
    source.resume(Position(9))
    source.hear({"t": 1})
    source.hear({"t": 2}, retain=True)
    source.hear({"t": 3}, dup=True)
    source.hear({"t": 4})
    assert [(r.position.ordinal, r.x["t"]) for r in source.poll(10)] == [(10, 1), (11, 4)]


def test_a_reading_with_an_identity_counts_once_also_after_a_restart():
    source = Heard(record_id="meta.seq")
    source.resume(START)
    for seq in (1, 2, 2, 1, 3):
        source.hear({"meta": {"seq": seq}})
    source.hear({"meta": {"seq": 1}}, topic="home/cellar")
    records = source.poll(10)
    assert [r.x["meta.seq"] for r in records] == [1, 2, 3, 1]
    again = Heard(record_id="meta.seq")
    again.resume(stored(records[-1].position))
    for seq in (3, 4):
        again.hear({"meta": {"seq": seq}})
    assert [(r.position.ordinal, r.x["meta.seq"]) for r in again.poll(10)] == [(4, 4)]


def test_a_flood_is_dropped_and_said(caplog):
    source = Heard()
    source.resume(START)
    for k in range(10_010):
        source.hear({"t": k})
    assert "too slow for its sensors" in caplog.text
    assert len(drain(source)) == 10_000


def test_a_message_that_is_too_long_is_not_parsed_and_keeps_its_place(caplog, monkeypatch):
    monkeypatch.setattr(mqtt_topic, "LONGEST_BYTES", 100)
    source = Heard()
    source.resume(START)
    for payload in ({"t": 1}, {"t": "x" * 100}, {"t": 3}):
        source.hear(payload)
    records = [(r.position.ordinal, dict(r.x)) for r in source.poll(10)]
    assert records == [(0, {"t": 1}), (1, {}), (2, {"t": 3})]
    assert "1 readings not used" in caplog.text
    assert "the last one has 109 bytes" in caplog.text


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_a_poll_handles_no_more_messages_than_asked_for(limit):
    """Each step of the connection brings one message, wanted or not."""
    source = Heard()
    source.resume(START)
    queue = [({"t": 0}, True), *(({"t": k}, False) for k in range(1, 8))]

    def step(now):
        if queue:
            payload, retain = queue.pop(0)
            source.hear(payload, retain=retain)

    source._subscription.step = step
    records = []
    for _ in range(8):
        left = len(queue)
        records += source.poll(limit)
        assert left - len(queue) <= limit
    assert [record.x["t"] for record in records] == list(range(1, 8))


# As their projects document them: Zigbee2MQTT (WSDCGQ01LM), Tasmota (AM2301), and plain numbers.
@pytest.mark.parametrize(
    ("topic", "payload", "values"),
    [
        (
            "zigbee2mqtt/kitchen",
            b'{"temperature": 27.34, "humidity": 44.72}',
            {"temperature": 27.34, "humidity": 44.72},
        ),
        (
            "tele/tasmota_0C1234/SENSOR",
            b'{"Time":"2019-01-01T00:00:00","AM2301":{"Temperature":24.6,"Humidity":58.2},'
            b'"TempUnit":"C"}',
            {
                "Time": "2019-01-01T00:00:00",
                "AM2301.Temperature": 24.6,
                "AM2301.Humidity": 58.2,
                "TempUnit": "C",
            },
        ),
        ("home/kitchen/temperature", b"21.5", {"value": 21.5}),
        ("home/kitchen/temperature", b" -3\n", {"value": -3}),
        ("home/kitchen/light", b"on", {}),
        ("home/kitchen/light", b"true", {}),
        ("home/kitchen/light", b"", {}),
    ],
)
def test_what_homes_publish(topic, payload, values):
    source = Heard()
    source.resume(START)
    source.hear(payload, topic=topic)
    (record,) = source.poll(10)
    assert dict(record.x) == values
    assert bool(record.fault) != bool(values)


def test_of_tasmota_the_time_tells_readings_apart():
    """The same temperature five minutes later is a new reading."""
    source = Heard(record_id="Time")
    source.resume(START)
    for minute in (0, 5, 5, 10):
        reading = {"Time": f"2019-01-01T00:{minute:02}:00", "AM2301": {"Temperature": 24.6}}
        source.hear(reading, topic="tele/kitchen/SENSOR")
    assert [record.fault for record in source.poll(10)] == ["", "", ""]
