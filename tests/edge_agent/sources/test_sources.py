"""Sources by their schemes: every one opens, states its privacy unit, and mistakes are named."""

from __future__ import annotations

import importlib.metadata
import os
from contextlib import closing
from importlib import import_module
from types import SimpleNamespace

import pytest

from edge_agent.consent.admission import Feed
from edge_agent.errors import SourceError
from edge_agent.sources import SCHEMES, open_source
from edge_agent.sources.base import Options
from edge_agent.sources.jsonl import StandardInput
from edge_agent.sources.paced import Paced
from fsir.net.broker import Broker
from tests.edge_agent.motion import recording, write_recording
from tests.edge_agent.sources.files import write
from tests.edge_agent.sources.iio.fake_iio import FakeDevice
from tests.edge_agent.sources.termux.phones import Phone

NOBODY = Broker("127.0.0.1", 9)


@pytest.mark.parametrize("place", SCHEMES.values())
def test_every_scheme_leads_to_something_that_opens(place):
    module, name = place.split(":")
    assert callable(getattr(import_module(module), name))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("csv", 1),
        ("jsonl", 1),
        ("mqtt", 1),
        ("signals", 2),
        ("iio", 2),
        ("sensorlogger", 2),
        ("termux", 3),
    ],
)
def test_every_source_states_how_many_records_one_reading_touches(
    tmp_path, kind, expected, monkeypatch
):
    rest = {
        "csv": lambda: write(tmp_path, "csv", []),
        "jsonl": lambda: write(tmp_path, "jsonl", []),
        "mqtt": lambda: "home/+",
        "signals": lambda: write_recording(tmp_path / "a.csv", *recording(1)),
        "iio": lambda: FakeDevice(tmp_path, 0, "chip").root / "chip",
        "sensorlogger": lambda: "mqtt:phone",
        "termux": lambda: Phone(tmp_path, monkeypatch) and "accelerometer+gyroscope",
    }[kind]()
    options = Options(broker=NOBODY, acc_range=8.0, gyro_range=35.0)
    with closing(open_source(f"{kind}:{rest}", options)) as source:
        assert source.unit_records == expected
        assert Feed.of(Paced(source, "time", 1.0)).unit_records == expected


def test_standard_input_has_a_record_for_each_line():
    read, write_end = os.pipe()
    with closing(StandardInput(read)) as source:
        assert Feed.of(source).unit_records == 1
    os.close(read)
    os.close(write_end)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("data.csv", "schemes: csv, jsonl, mqtt, iio, sensorlogger, termux, signals"),
        ("csv:", "scheme:rest"),
        ("tape:1", "no scheme 'tape'"),
        ("csv:/nowhere/at/all.csv", "there is no such file, and no folder /nowhere/at"),
        ("mqtt:a/#/b", "not a valid topic filter"),
        ("mqtt:a", "--source-broker"),
    ],
)
def test_mistakes_are_named(address, reason):
    options = Options(broker=NOBODY) if "#" in address else Options()
    with pytest.raises(SourceError, match=reason):
        open_source(address, options)


def test_others_can_add_a_source(monkeypatch):
    class Dice:
        def __init__(self, rest, options):
            self.rest = rest

    point = SimpleNamespace(name="dice", load=lambda: Dice)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group, name=None: [point])
    assert open_source("dice:6", Options()).rest == "6"
