"""`fsir-aggregator serve` as people start it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import tomli_w

from tests.aggregator.federations import make_task, report
from tests.system.aggregator.daemons import ROOT, Devices, wait_for
from tests.system.harness.ports import HeldPorts

TASK = make_task(p=3, records=60)


@pytest.mark.broker
def test_serve_as_people_start_it(mosquitto_url: str, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(tomli_w.dumps(TASK.table()))
    held = HeldPorts(1)
    page = f"127.0.0.1:{held.numbers[0]}"
    command = [sys.executable, "-m", "aggregator", "serve", "--task", str(tmp_path / "t.toml")]
    command += ["--broker", mosquitto_url, "--store", f"sqlite:{tmp_path / 's.db'}"]
    command += ["--http", page, "--log", "json", "--expect", "9"]
    devices = Devices(mosquitto_url, TASK)
    sent = {f"d{i}": report(TASK, f"d{i}", i) for i in range(5)}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT)
    try:
        wait_for(lambda: "task" in devices.retained, "the daemon")
        devices.send(sent)
        devices.wait(sent)
        with urllib.request.urlopen(f"http://{page}/healthz", timeout=10) as answer:
            assert json.load(answer)["ok"] is True
        with urllib.request.urlopen(f"http://{page}/metrics", timeout=10) as answer:
            metrics = answer.read()
        assert b'fsir_reports_total{task="test",verdict="counted"} 5.0' in metrics
        assert b'fsir_expected_devices{task="test"} 9.0' in metrics
        assert b'fsir_missing_devices{task="test"} 4.0' in metrics
    finally:
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        devices.close()
        held.close()
    assert process.returncode == 0
    lines = [json.loads(line) for line in log.decode().splitlines()]
    assert any("connected with MQTT 5" in line["message"] for line in lines)
