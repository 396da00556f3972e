"""How `fsir-agent run` ends: what it says, and the exit code that a script sees."""

from __future__ import annotations

import json
import subprocess

import pytest

from edge_agent.cli import main
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import DEVICE, command, willing, write_jsonl
from tests.fsir.tasks import task

pytestmark = pytest.mark.broker


def test_a_source_that_ends_too_early_is_told_and_kept(mosquitto_url, tmp_path):
    of = task()
    source = write_jsonl(tmp_path / "data.jsonl", of, 40)
    with TinyAggregator(mosquitto_url, of) as server:
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path)
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
        assert done.returncode == 3
        assert done.stderr.count("first record learned") == 1
        owed = "test: the source has ended, and 60 records are missing for the report: 40 of 100"
        assert owed in done.stderr
        assert "--follow" in done.stderr
        with source.open("a") as file:
            file.write(write_jsonl(tmp_path / "more.jsonl", of, 70).read_text())
        done = subprocess.run([*arguments, "--once"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0
        assert "first record learned" not in done.stderr  # that was before the restart
        assert decode(next(iter(server.reports(DEVICE)["final"])), Report).n == 100


@pytest.mark.parametrize(
    ("version", "reason"), [(1, "did not make"), (2, "another copy of this device's state")]
)
def test_a_restored_card_is_refused(mosquitto_url, tmp_path, version, reason):
    of = task(version=version)
    source = write_jsonl(tmp_path / "data.jsonl", of, 150)
    with TinyAggregator(mosquitto_url, of) as server:
        for _ in range(2):
            more = ["--once", *willing(tmp_path)]
            arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path, *more)
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
            (tmp_path / "state" / "agent.sqlite").unlink()
        assert reason in done.stderr
        assert done.returncode == 4
        assert len(server.reports(DEVICE)["final"]) == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "", "is empty: its first line should name the columns"),
        # no header
        (
            "a.csv",
            "1,2,3,a\n" * 9,
            "8 of 100 offered, 0 learned (not accepted: 8 unknown response)",
        ),
        ("a.jsonl", "", "0 of 100 offered, 0 learned; what was"),
        (
            "a.jsonl",
            '{"x0": 1, "x1": 1, "x2": 1}\n' * 9,
            "9 of 100 offered, 0 learned (not accepted: 9 unknown response)",
        ),
    ],
)
def test_a_source_without_a_single_record_is_told(mosquitto_url, tmp_path, name, content, said):
    (tmp_path / name).write_text(content)
    with TinyAggregator(mosquitto_url, task()):
        arguments = command(mosquitto_url, f"{name.partition('.')[2]}:{tmp_path / name}", tmp_path)
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert said in done.stderr
    assert "records are missing for the report" in done.stderr
    assert "first record learned" not in done.stderr


def test_a_script_sees_that_a_task_was_refused_and_so_does_the_status(
    mosquitto_url, tmp_path, capsys
):
    of = task(privacy={"epsilon": 3.0})
    source = write_jsonl(tmp_path / "data.jsonl", of, 10)
    with TinyAggregator(mosquitto_url, of):
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path, "--once")
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 4, done.stderr
    assert main(["status", "--json", "--state", str(tmp_path / "state")]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["tasks"]
    assert entry["phase"] == "refused"
    assert "cap is 2" in entry["reason"]
