"""A task that is not the one its owner has read, and a device that was withdrawn: what is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tomli_w

from fsir.task.task import Task
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import DEVICE, end, wait_for_line, write_jsonl
from tests.fsir.tasks import task
from tests.system.mistakes.said import ROOT, ended, mistake

pytestmark = pytest.mark.broker
READ = task(report={"records": 20})
OTHER = task(report={"records": 21})


def written(path: Path, of: Task) -> Path:
    path.write_text(tomli_w.dumps(of.table()), encoding="utf-8")
    return path


def run_line(url: str, file: object, folder: Path) -> list[object]:
    """`fsir-agent run` with the settings in a file; the state is in the usual place."""
    source = write_jsonl(folder / "data.jsonl", READ, 60)
    config = {"broker": url, "device": DEVICE, "source": f"jsonl:{source.name}", "once": True}
    (folder / "agent.toml").write_text(tomli_w.dumps(config), encoding="utf-8")
    return ["fsir-agent", "run", "-c", "agent.toml", "--task", file]


def test_what_the_owner_has_read_is_what_the_device_takes_part_in(
    mosquitto_url: str, tmp_path: Path
) -> None:
    file = written(tmp_path / "task.toml", READ)
    with TinyAggregator(mosquitto_url, READ) as server:
        done = ended(run_line(mosquitto_url, file, tmp_path), tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(server.reports(DEVICE)["final"]) == 1
    assert (tmp_path / ".local/state/fsir/agent.sqlite").is_file()
    # Later the file is another: the device stays with what it has accepted.
    other = written(tmp_path / "other.toml", OTHER)
    assert mistake(run_line(mosquitto_url, other, tmp_path), tmp_path) == (
        "fsir-agent: this device has accepted another task 'test' than that in the file: digest "
        f"{READ.digest.hex()[:16]}, the file has {OTHER.digest.hex()[:16]}. A changed task needs "
        "a new name (or give the accepted one up: fsir-agent forget --task test --unpin)"
    )


def test_another_task_of_the_name_is_refused_and_nothing_leaves(
    mosquitto_url: str, tmp_path: Path
) -> None:
    file = written(tmp_path / "task.toml", READ)
    with TinyAggregator(mosquitto_url, OTHER) as server:
        done = ended(run_line(mosquitto_url, file, tmp_path), tmp_path)
        assert server.reports(DEVICE) == {}
    assert done.returncode == 4
    why = (
        "another task is published as 'test' than the one that the owner has read: digest "
        f"{OTHER.digest.hex()[:16]}, the file of --task has {READ.digest.hex()[:16]}; "
        "read it, and if you agree, take part with its file"
    )
    assert f"test: refused what came on fsir/1/test/task: {why}\n" in done.stderr
    status = ended(["fsir-agent", "status"], tmp_path)
    assert f"refused                     {why}" in status.stdout


def test_a_withdrawn_device_is_told_while_it_is_connected(
    mosquitto_url: str, tmp_path: Path
) -> None:
    """By the real aggregator, in seconds; its owner reads why in its status."""
    file = written(tmp_path / "task.toml", READ)
    store = f"sqlite:{tmp_path / 'reports.db'}"
    serve = [sys.executable, "-m", "aggregator", "serve", "--task", str(file), "--store", store]
    source = write_jsonl(tmp_path / "data.jsonl", READ, 60)
    run = [sys.executable, "-m", "edge_agent", "run", "--task", str(file), "--device", DEVICE]
    run += ["--source", f"jsonl:{source}", "--follow", "--state", str(tmp_path / "state")]
    started = [
        subprocess.Popen(
            [*command, "--broker", mosquitto_url],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in (serve, run)
    ]
    _, agent = started
    try:
        wait_for_line(agent, "final report counted")
        done = ended(["fsir-aggregator", "withdraw", DEVICE, "--store", store], tmp_path)
        assert done.stdout.startswith(f"task test: '{DEVICE}' 1 report(s) taken out")
        said = wait_for_line(agent, "takes no further part")
    finally:
        for process in started:
            end(process)
    assert "test: takes no further part: withdrawn by the aggregator's operator: " in said
    status = ended(["fsir-agent", "status", "--state", "state"], tmp_path).stdout
    assert "withdrawn by the aggregator's operator: what this device has reported was" in status
