"""`fsir-agent run --source signals:...` as a process: a recording, killed on the way."""

from __future__ import annotations

import subprocess
import time

import pytest

from fsir.wire.decode import decode
from fsir.wire.messages import Report
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.motion import BEGIN, raw_task, read, recording, write_recording
from tests.edge_agent.processes import DEVICE, command, end, ledger, wait_for_line

RANGES = ("--acc-range", "8", "--gyro-range", "35")
SLOW = ("--time-column", "time", "--speed", "20")


@pytest.mark.broker
def test_the_agent_reports_the_windows_of_a_recording_once(mosquitto_url, tmp_path):
    """Killed on the way, the report is about each window once, and about no gap.

    Nor does a damaged row stop it: one quote that is never closed.
    """
    times, acc, gyro = recording(90)
    labels = ["a" if int(time - BEGIN) // 15 % 2 else "b" for time in times]
    path = write_recording(tmp_path / "walk.csv", times, acc, gyro, labels)
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*rows[:900], '"' + rows[900][1:], *rows[901:]]))
    offered = [record.position.ordinal for record in read(path)[0]]
    run = command(mosquitto_url, f"signals:{path}", tmp_path, *RANGES)
    with TinyAggregator(mosquitto_url, raw_task(40)) as server:
        first = subprocess.Popen([*run, *SLOW], stderr=subprocess.PIPE, text=True)
        try:
            wait_for_line(first, "first record learned")
            time.sleep(1.0)  # somewhere on the way; where does not matter
            first.kill()
            told = first.stderr.read()
        finally:
            end(first)
        done = subprocess.run([*run, "--once"], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "a quoted text does not end in its line" in told + done.stderr
        (report,) = server.reports(DEVICE)["final"]
    assert decode(report, Report).n == 40
    assert [(row.first, row.last) for row in ledger(tmp_path)] == [(offered[0], offered[39])]
