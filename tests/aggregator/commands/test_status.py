"""`fsir-aggregator status`."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from aggregator.cli import main
from aggregator.core import Aggregator
from aggregator.rounds import recount
from aggregator.store.opening import open_store
from tests.aggregator.commands.lines import TASK, fails, run, run_json
from tests.aggregator.federations import report, topic


def test_status_for_people(capsys: pytest.CaptureFixture[str], store: str) -> None:
    text = run(capsys, "status", "--store", store, "--recount")
    assert "task test, epoch 1" in text
    assert "final: 4 devices, 240 records; the stored reports add up to it" in text
    assert "active set: 3 features (x0, x1, x2)" in text
    assert "refused: malformed 1; withdrawn: 1" in text
    assert "subspace: none yet" in text  # of the other task


def test_status_for_programs(capsys: pytest.CaptureFixture[str], store: str) -> None:
    (plain, screened) = run_json(capsys, "status", "--store", store)["tasks"]
    assert plain["subspace"]["devices"] == 4
    assert len(plain["subspace"]["singular_values"]) == 2
    assert screened["stages"]["screening"] == {"devices": 3, "records": 600}
    assert screened["active"] == ["x0", "x1", "x2"]
    (only,) = run_json(capsys, "status", "--store", store, "--task", "test")["tasks"]
    assert only["task"] == "test"


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_recount_beside_a_worker_that_counts_on_is_of_one_moment(
    capsys: pytest.CaptureFixture[str],
    store: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
) -> None:
    if engine == "postgresql":
        there = request.getfixturevalue("postgres").fresh()
        assert main(["store", "copy", store, there]) == 0
        store = there
    capsys.readouterr()
    worker = Aggregator(open_store(store), [TASK])
    worker.start(1.0)
    again = recount.recounted

    def slowly(*which: Any) -> Any:
        found = again(*which)
        name = f"late-{which[2]}"
        worker.take(topic(TASK, name), report(TASK, name, 1))
        worker.commit(2.0)
        return found

    monkeypatch.setattr(recount, "recounted", slowly)
    said = run_json(capsys, "status", "--store", store, "--recount", "--task", "test")["tasks"][0]
    assert said["stages"]["final"] == {"devices": 4, "records": 240, "recount": True}
    assert worker.verdicts[TASK.name, "counted"] == 1
    worker.store.close()


def test_status_says_what_a_task_without_a_subspace_waits_for(
    capsys: pytest.CaptureFixture[str], store: str
) -> None:
    text = run(capsys, "status", "--store", store, "--task", "screened")
    assert "subspace: none yet; waits for the first final report" in text
    assert "0 of 3 that were screened" in text
    assert "not yet: 3 waiting (e0, e1, e2)" in text


class Terminal(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def three_looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Ctrl-C during the third pause; the pauses that were asked for."""
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("aggregator.commands.status.time.sleep", sleep)
    return pauses


def test_watching_redraws_in_place_on_a_terminal_until_control_c(
    monkeypatch: pytest.MonkeyPatch, store: str, three_looks: list[float]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    assert main(["status", "--watch", "--store", store]) == 0
    assert three_looks == [2.0] * 3
    screens = terminal.getvalue().split("\x1b[H")[1:]
    assert len(screens) == 3
    for screen in screens:
        assert "task test, epoch 1" in screen
        assert screen.endswith("\x1b[J\n")
        # Whatever was longer before is gone.
        assert all(line.endswith("\x1b[K") for line in screen[:-4].split("\n"))


def test_watching_into_a_pipe_prints_one_block_after_the_other(
    capsys: pytest.CaptureFixture[str], store: str, three_looks: list[float]
) -> None:
    text = run(capsys, "status", "--watch", "0.5", "--store", store)
    assert three_looks == [0.5] * 3
    assert "\x1b" not in text
    blocks = text.split("\n\n")
    assert len(blocks) == 4
    assert len(set(blocks[:3])) == 1


def test_watching_for_programs_prints_one_object_per_line(
    capsys: pytest.CaptureFixture[str], store: str, three_looks: list[float]
) -> None:
    lines = run(capsys, "status", "--watch", "--json", "--store", store).splitlines()
    assert [len(json.loads(line)["tasks"]) for line in lines] == [2, 2, 2]
    assert len(three_looks) == 3


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e12"])
def test_a_pause_that_is_none_is_refused(
    capsys: pytest.CaptureFixture[str], store: str, seconds: str
) -> None:
    assert "at least 0.2 seconds" in fails(capsys, "status", f"--watch={seconds}", "--store", store)
