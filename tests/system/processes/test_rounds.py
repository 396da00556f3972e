"""Rounds as a stranger uses them: `task new`, `serve` and `run`, each a process, over mosquitto."""

from __future__ import annotations

import contextlib
import csv
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edge_agent.loop.ending import DONE, REFUSED, TOO_FEW
from edge_agent.state.rows import LedgerRow
from edge_agent.state.state import State
from tests.system.aggregator.daemons import wait_for

pytestmark = pytest.mark.broker
ROUNDS = 5
RECORDS = 60
FEATURES = ("a", "b", "c")
PATIENCE_SECONDS = 60


def rows(count: int, seed: int) -> list[list[str]]:
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        x = [rng.gauss(0.0, 1.0) for _ in FEATURES]
        made.append([*(f"{value:.4f}" for value in x), "high" if x[0] > 0.0 else "low"])
    return made


class Stranger:
    """Somebody with three programs, a broker and tables."""

    def __init__(self, url: str, directory: Path) -> None:
        self._url = url
        self._directory = directory
        self.table("public.csv", rows(200, 0))
        options = ["--sample", "public.csv", "--response", "level", "--name", "level"]
        options += ["--records", str(RECORDS), "--rounds", str(ROUNDS), "--devices", "1"]
        self.aggregator("task", "new", *options, "--output", "task.toml")
        (directory / "policy.toml").write_text(f"rounds = {ROUNDS}\nhold = false\n")

    def table(self, name: str, content: list[list[str]]) -> None:
        with (self._directory / name).open("w", newline="") as file:
            csv.writer(file).writerows([[*FEATURES, "level"], *content])

    def aggregator(self, *arguments: str) -> str:
        program = [sys.executable, "-m", "aggregator", *arguments]
        done = subprocess.run(
            program, cwd=self._directory, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """The daemon, until the end of the block."""
        program = [sys.executable, "-m", "aggregator", "serve", "--task", "task.toml"]
        program += ["--broker", self._url, "--store", "sqlite:store.db", "--debounce", "0.1"]
        with (self._directory / "serve.log").open("a") as log:
            process = subprocess.Popen(program, cwd=self._directory, stdout=log, stderr=log)
            try:
                yield
            finally:
                process.terminate()
                process.wait(PATIENCE_SECONDS)

    def agent(self, state: str) -> tuple[int, str]:
        """`fsir-agent run` until its table ends: the exit code, and what it said."""
        program = [sys.executable, "-m", "edge_agent", "run", "--broker", self._url]
        program += ["--task", "level", "--device", "pi", "--source", "csv:stream.csv"]
        program += ["--state", state, "--policy", "policy.toml", "--output", "served"]
        done = subprocess.run(
            program, cwd=self._directory, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
        return done.returncode, done.stderr

    def ledger(self, state: str) -> list[LedgerRow]:
        opened = State(self._directory / state, None, read_only=True)
        with contextlib.closing(opened):
            return opened.ledger()

    def status(self) -> dict[str, object]:
        shown = json.loads(self.aggregator("status", "--store", "sqlite:store.db", "--json"))
        (task,) = shown["tasks"]
        return dict(task)

    def followed(self) -> object:
        """The last round that the subspace is made from."""
        history = self.status()["history"]
        assert isinstance(history, list)
        return history[-1]["round"] if history else None


def test_rounds_go_on_over_restarts_and_only_from_the_newest_state(mosquitto_url, tmp_path):
    stranger = Stranger(mosquitto_url, tmp_path)
    stream = rows(ROUNDS * RECORDS, 1)
    with stranger.serving():
        stranger.table("stream.csv", stream[: 2 * RECORDS])
        code, said = stranger.agent("state")
        assert code == TOO_FEW, said
        assert "final report of round 2 counted" in said
        wait_for(lambda: stranger.followed() == 2, "a subspace from two rounds")
    shutil.copytree(tmp_path / "state", tmp_path / "backup")
    stranger.table("stream.csv", stream)
    with stranger.serving():
        code, said = stranger.agent("state")
        assert code == DONE, said
        wait_for(lambda: stranger.followed() == ROUNDS, "a subspace from all rounds")
        for state in ("backup", "new"):  # an old card, and one that was lost
            code, said = stranger.agent(state)
            assert code == REFUSED, said
            assert "another copy of this device's state directory" in said
    ledger = stranger.ledger("state")
    every = range(1, ROUNDS + 1)
    assert [(row.round, row.verdict) for row in ledger] == [(k, "counted") for k in every]
    # No record is passed by, although a table is read faster than receipts come.
    assert [(row.first, row.last) for row in ledger] == [
        (RECORDS * (k - 1), RECORDS * k - 1) for k in every
    ]
    # What the others made before they heard of it has not left them.
    text = stranger.aggregator("status", "--store", "sqlite:store.db", "--recount")
    assert f"rounds: {ROUNDS} of {ROUNDS};" in text
    assert f"1 devices, {ROUNDS * RECORDS} records; the stored reports add up to it" in text
    assert "refused: none" in text
