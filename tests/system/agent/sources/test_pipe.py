"""`fsir-agent run --source jsonl:-`: nothing that is piped in is lost, whenever the task comes."""

from __future__ import annotations

import json
import subprocess
import threading
from itertools import islice

import pytest

from edge_agent.cli import main
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import (
    DEVICE,
    command,
    end,
    ledger,
    wait_for_line,
    write_jsonl,
)
from tests.fsir.tasks import task

pytestmark = pytest.mark.broker


def started(url, directory, *more):
    return subprocess.Popen(
        command(url, "jsonl:-", directory, *more),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_lines_that_were_there_before_the_task_are_all_learned(mosquitto_url, tmp_path, capsys):
    of = task(report={"records": 40})
    lines = write_jsonl(tmp_path / "data.jsonl", of, 40).read_text()
    process = started(mosquitto_url, tmp_path, "--once")
    try:
        process.stdin.write(lines)
        process.stdin.close()
        said = wait_for_line(process, "waiting for the task test: jsonl:- is not read before")
        assert "learned" not in said
        with TinyAggregator(mosquitto_url, of) as server:
            wait_for_line(process, "final report made from 40 records")
            assert process.wait(30) == 0
            (report,) = server.reports(DEVICE)["final"]
    finally:
        process.stdin = None
        end(process)
    assert decode(report, Report).n == 40
    (row,) = ledger(tmp_path)
    assert (row.first, row.last, row.n) == (0, 39, 40)
    assert main(["status", "--json", "--state", str(tmp_path / "state")]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"][0]["refused"] == {}


def test_too_few_lines_are_counted_in_full(mosquitto_url, tmp_path):
    """What the owner of a short pipe is told: 40 of 100, and not 0."""
    of = task()
    lines = write_jsonl(tmp_path / "data.jsonl", of, 40).read_text()
    process = started(mosquitto_url, tmp_path)
    try:
        process.stdin.write(lines)
        process.stdin.close()
        wait_for_line(process, "waiting for the task test")
        with TinyAggregator(mosquitto_url, of):
            wait_for_line(process, "40 of 100 offered, 40 learned")
            assert process.wait(30) == 3
    finally:
        process.stdin = None
        end(process)


def test_after_the_report_every_line_is_served(mosquitto_url, tmp_path):
    """While it waits for the subspace, so does the writer: no line between the two is lost."""
    of = task()
    lines = write_jsonl(tmp_path / "data.jsonl", of, 3000).read_text()
    process = started(mosquitto_url, tmp_path)
    writer = threading.Thread(target=lambda: (process.stdin.write(lines), process.stdin.close()))
    try:
        with TinyAggregator(mosquitto_url, of, silent=True) as server:
            writer.start()
            wait_for_line(process, "final report made from 100 records")
            server.emit()
            served = [json.loads(line)["record"] for line in islice(process.stdout, 2900)]
            writer.join(30)
    finally:
        process.stdin = None
        end(process)
    assert served == list(range(100, 3000))


def test_a_task_that_comes_later_sees_every_line(mosquitto_url, tmp_path):
    one = task(privacy={"epsilon": 0.9})
    two = task(name="two", privacy={"epsilon": 0.9}, report={"records": 60})
    lines = write_jsonl(tmp_path / "data.jsonl", one, 150).read_text()
    with TinyAggregator(mosquitto_url, one):
        process = started(mosquitto_url, tmp_path, "--once", "--task", "two")
        try:
            process.stdin.write(lines)
            process.stdin.close()
            wait_for_line(process, "waiting for the task two: jsonl:- is not read before")
            with TinyAggregator(mosquitto_url, two):
                wait_for_line(process, "two: accepted")
                assert process.wait(30) == 0
        finally:
            process.stdin = None
            end(process)
    assert sorted((row.task, row.first, row.last) for row in ledger(tmp_path)) == [
        ("test", 0, 99),
        ("two", 0, 59),
    ]
