"""`fsir-agent run --source termux:...` as a process, on a phone that is a fake."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.motion import raw_task
from tests.edge_agent.processes import command, end, wait_for_line
from tests.edge_agent.sources.termux.phones import Phone

pytestmark = [pytest.mark.broker, pytest.mark.long]
SOURCE = "termux:accelerometer+gyroscope"
RANGES = ("--acc-range", "8", "--gyro-range", "35")


@pytest.fixture
def phone(tmp_path, monkeypatch):
    folder = tmp_path / "phone"
    folder.mkdir()
    return Phone(folder, monkeypatch)


def test_windows_of_the_phone_are_served_and_its_sensors_let_go(mosquitto_url, tmp_path, phone):
    with TinyAggregator(mosquitto_url, raw_task(unit_records=3)) as server:
        server.emit()
        process = subprocess.Popen(
            command(mosquitto_url, SOURCE, tmp_path, *RANGES),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            records = [json.loads(process.stdout.readline())["record"] for _ in range(3)]
            process.terminate()
            assert process.wait(30) == 0
        finally:
            end(process)
    assert records == sorted(set(records))
    assert phone.calls()[-1] == "-c"


def test_it_does_not_run_before_the_task_is_known_nor_for_one_that_protects_less(
    mosquitto_url, tmp_path, phone
):
    arguments = command(mosquitto_url, SOURCE, tmp_path, *RANGES, "--once")
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    try:
        wait_for_line(process, f"waiting for the task test: {SOURCE} is not read before")
        with TinyAggregator(mosquitto_url, raw_task()):
            wait_for_line(process, "the task must say unit_records = 3")
            assert process.wait(30) == 4
    finally:
        end(process)
    assert phone.calls() == []
