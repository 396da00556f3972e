"""An agent that holds its report, and one that comes too late: what people and scripts see."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import DEVICE, command, end, ledger, wait_for_line, write_jsonl
from tests.fsir.tasks import task

pytestmark = [pytest.mark.broker, pytest.mark.long]
N = 1000  # of which half is thirty times the noise of the decision


def wrong_units(path, of, n):
    """Records a million times too large."""
    write_jsonl(path, of, n)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row.update({name: row[name] * 1e6 for name in of.features.names})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def agent(*words):
    done = [sys.executable, "-m", "edge_agent", *words]
    return subprocess.run(done, capture_output=True, text=True, timeout=60)


def test_it_is_held_shown_and_released_while_it_runs(mosquitto_url, tmp_path):
    of = task(report={"records": N})
    source = wrong_units(tmp_path / "data.jsonl", of, N)
    with TinyAggregator(mosquitto_url, of) as server:
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path, "--follow")
        process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        try:
            said = wait_for_line(process, "HELD")
            assert "x0, x1, x2: far outside of what the task expects" in said
            assert f"fsir-agent release test --state {tmp_path / 'state'}" in said
            assert server.reports(DEVICE) == {}
            shown = agent("status", "--state", str(tmp_path / "state"))
            assert "HELD, and nothing is sent: x0, x1, x2: far outside" in shown.stdout
            assert agent("release", "test", "--state", str(tmp_path / "state")).returncode == 0
            wait_for_line(process, "final report counted")
        finally:
            end(process)
        assert len(server.reports(DEVICE)["final"]) == 1
    assert [row.stage for row in ledger(tmp_path)] == ["hold", "final"]


def test_a_script_sees_that_it_is_held_and_the_next_start_sends_it(mosquitto_url, tmp_path):
    of = task(report={"records": N})
    source = wrong_units(tmp_path / "data.jsonl", of, N)
    arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path, "--once")
    with TinyAggregator(mosquitto_url, of) as server:
        for _ in range(2):
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
            assert done.returncode == 6
            assert "HELD" in done.stderr
            assert server.reports(DEVICE) == {}
        assert agent("release", "test", "--state", str(tmp_path / "state")).returncode == 0
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0
        assert len(server.reports(DEVICE)["final"]) == 1


def test_a_device_that_comes_after_the_deadline_is_told_and_leaves(mosquitto_url, tmp_path):
    of = task(report={"records": N, "deadline": 1_700_000_000, "sigma_0": 1.0})
    source = write_jsonl(tmp_path / "data.jsonl", of, 50)
    (tmp_path / "agent.toml").write_text("exact_count = true\n")
    policy = ["--policy", str(tmp_path / "agent.toml")]
    arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path, "--once", *policy)
    with TinyAggregator(mosquitto_url, of):
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 5
    said = "test: too late: its deadline was 2023-11-14 22:13 UTC, and this device has 0 of the at"
    assert said in done.stderr


def test_a_missing_column_is_said_while_there_is_time(mosquitto_url, tmp_path):
    of = task(report={"records": N})
    source = write_jsonl(tmp_path / "data.jsonl", of, 60)
    source.write_text(source.read_text().replace('"x1"', '"x-1"'))
    with TinyAggregator(mosquitto_url, of):
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path)
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    said = re.sub(r"in \d+ s;", "in a while;", done.stderr)  # how long depends on the machine
    assert (
        f"test: 50 records in a row were not learned, in a while; the last one, record 49 of "
        f"jsonl:{source}: there is no 'x1', a feature of the task; is 'x-1' what is meant? "
        "rename it; fsir-agent try looks at them all" in said
    )
    assert "none could be used: there is no 'x1', a feature of the task" in done.stderr
    assert "when there are more" not in done.stderr
