"""`fsir-agent run` killed again and again: one report per stage, and no record twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from fsir.privacy.plan import first_stage
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import DEVICE, command, end, ledger, write_jsonl
from tests.edge_agent.world import one_hot
from tests.fsir.tasks import screened, task

pytestmark = pytest.mark.broker


def kill_at_random(arguments, rng, stdin=None, kills=20, window=(0.4, 2.4)) -> None:
    """Start it and end it like a power cut, so many times."""
    for _ in range(kills):
        process = subprocess.Popen(
            arguments, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(*window))
        end(process)


def run_with_kills(url: str, tmp_path: Path, kills: int, records_rule: str) -> None:
    of = screened(records=records_rule)
    source = write_jsonl(tmp_path / "data.jsonl", of, 400)
    arguments = command(
        url, f"jsonl:{source}", tmp_path, "--time-column", "t", "--speed", "60", "--once"
    )
    rng = random.Random(kills)
    with TinyAggregator(url, of, active=("x1", "x4")) as server:
        kill_at_random(arguments, rng, kills=kills)
        last = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
        assert last.returncode == 0, last.stderr
        counts = {stage: len(payloads) for stage, payloads in server.reports(DEVICE).items()}
        assert counts == {"screening": 1, "final": 1}
        assert set(server.counted) == {(DEVICE, "screening"), (DEVICE, "final")}
    rows = ledger(tmp_path)
    assert sorted(row.stage for row in rows) == ["final", "screening"]
    assert {row.verdict for row in rows} <= {"counted", "duplicate"}


def test_killed_a_few_times_it_still_reports_once(mosquitto_url, tmp_path):
    run_with_kills(mosquitto_url, tmp_path, 3, "same")


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["same", "fresh"])
def test_killed_at_twenty_random_moments_it_still_reports_once(mosquitto_url, tmp_path, rule):
    run_with_kills(mosquitto_url, tmp_path, 20, rule)


# --- one-hot records: any sum other than 0 or 1 names what was doubled ----------------------------

HOT = 150


def hot_task(records: int) -> Task:
    return task(
        HOT,
        privacy={"mechanism": "none"},
        clip={"truncate": 1.0, "norm": 1.0},
        report={"records": records},
    )


class Feeder:
    """Delivers the one-hot records through one kind of source, slowly.

    It goes on across all restarts of the agent.
    """

    def __init__(
        self, kind: str, of: Task, tmp_path: Path, server: TinyAggregator, pause: float
    ) -> None:
        self.kind = kind
        self.stdin = None
        self._pause = pause
        lines = [json.dumps(one_hot(of, j) | {"t": j, "seq": j}) for j in range(HOT)]
        self._stop = threading.Event()
        self.more: list[str] = ["--time-column", "t", "--speed", "40"]
        if kind == "jsonl":
            (tmp_path / "hot.jsonl").write_text("\n".join(lines) + "\n")
            self.source = f"jsonl:{tmp_path / 'hot.jsonl'}"
        elif kind == "csv":
            rows = [json.loads(line) for line in lines]
            text = [
                ",".join(rows[0]),
                *(",".join(str(value) for value in row.values()) for row in rows),
            ]
            (tmp_path / "hot.csv").write_text("\n".join(text) + "\n")
            self.source = f"csv:{tmp_path / 'hot.csv'}"
        elif kind == "stdin":
            self.source = "jsonl:-"
            self.more = []
            self.stdin, self._write = os.pipe()
            self._thread = threading.Thread(target=self._pump, args=(lines, self._into_pipe))
            self._thread.start()
        else:
            self.source = "mqtt:sensors/hot"
            self.more = ["--record-id", "seq"]
            # The last reading, once more for newcomers.
            server.publish("sensors/hot", lines[0].encode(), retain=True)
            self._thread = threading.Thread(target=self._pump, args=(lines, self._onto(server)))
            self._thread.start()

    def _pump(self, lines, deliver) -> None:
        for line in lines:
            if self._stop.wait(self._pause):
                return
            deliver(line)
            if self.kind == "mqtt" and random.random() < 0.2:
                deliver(line)  # a sensor that repeats itself

    def _into_pipe(self, line: str) -> None:
        os.write(self._write, line.encode() + b"\n")

    @staticmethod
    def _onto(server: TinyAggregator):
        return lambda line: server.publish("sensors/hot", line.encode())

    def close(self) -> None:
        self._stop.set()
        if self.kind in ("stdin", "mqtt"):
            self._thread.join()
        if self.stdin is not None:
            os.close(self._write)
            os.close(self.stdin)


def count_with_kills(kind: str, url: str, tmp_path: Path, kills: int) -> None:
    of = hot_task(25 if kind in ("stdin", "mqtt") else 120)
    (tmp_path / "policy.toml").write_text('unproven = ["none"]\n')
    with TinyAggregator(url, of) as server:
        feeder = Feeder(kind, of, tmp_path, server, pause=0.015 * kills)
        try:
            more = ["--policy", str(tmp_path / "policy.toml"), *feeder.more]
            arguments = command(url, feeder.source, tmp_path, *more)
            kill_at_random(arguments, random.Random(7), feeder.stdin, kills)
            last = subprocess.Popen(arguments, stdin=feeder.stdin, stdout=subprocess.DEVNULL)
            try:
                server.wait(lambda: bool(server.counted), 90)
            finally:
                end(last)
        finally:
            feeder.close()
        ((payload,),) = server.reports(DEVICE).values()
    report = decode(payload, Report)
    counted = report.blocks[0] * first_stage(of).grid
    assert set(np.unique(counted)) <= {0.0, 1.0}
    assert counted.sum() == report.n == of.report.records


@pytest.mark.parametrize("kind", ["csv", "jsonl", "stdin", "mqtt"])
def test_no_record_counts_twice(kind, mosquitto_url, tmp_path):
    count_with_kills(kind, mosquitto_url, tmp_path, kills=2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "jsonl", "stdin", "mqtt"])
def test_no_record_counts_twice_in_twenty_kills(kind, mosquitto_url, tmp_path):
    count_with_kills(kind, mosquitto_url, tmp_path, kills=20)
