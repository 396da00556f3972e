"""`serve --role`, `withdraw` and `status` of tasks with two aggregators."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli_w

from aggregator.cli import main
from fsir.secure.keys import write_pair
from fsir.task.secure import HELPER, LEADER
from tests.aggregator.commands.lines import TASK, fails
from tests.aggregator.secure.pair import PAIRS, Two, one_hot, sealed, secure_task

SEALED = secure_task(4, cohort=4)


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name, task in (("plain", TASK), ("sealed", SEALED)):
        Path(f"{name}.toml").write_text(tomli_w.dumps(task.table()))
    write_pair(PAIRS[HELPER], "helper.key")
    return ["serve", "--store", "sqlite:s.db", "--broker", "mqtt://localhost", "--task"]


def test_a_role_is_asked_for_where_there_are_two_aggregators_and_nowhere_else(
    capsys: pytest.CaptureFixture[str], serve: list[str]
) -> None:
    helper = ("--role", "helper", "--role-key", "helper.key")
    both = ("sealed.toml", "--task", "plain.toml", *helper)
    assert "--role leader" in fails(capsys, *serve, "sealed.toml")
    assert "give its --role-key" in fails(capsys, *serve, "sealed.toml", "--role", "helper")
    assert "leave them out" in fails(capsys, *serve, "plain.toml", *helper)
    assert "by two processes" in fails(capsys, *serve, *both)
    leader = ("--role", "leader", "--role-key", "helper.key")
    assert "give --role helper" in fails(capsys, *serve, "sealed.toml", *leader)


def test_status_tells_what_waits_and_withdraw_what_cannot_be_taken_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    two = Two(tmp_path, SEALED)
    for i in range(3):
        two.send(f"d{i}", sealed(SEALED, f"d{i}", one_hot(two.stage, i)))
    for role in (LEADER, HELPER):
        store = ("--store", f"sqlite:{tmp_path / role}.db")
        assert main(["status", *store]) == 0
        said = capsys.readouterr().out
        assert "sealed (final): 0 opened in 0 sum(s), 3 wait, 1 more for a sum" in said
        assert "waits for 1 more report(s) before a sum may be opened (3 of 4 wait)" in said
    for i in range(3, 6):
        two.send(f"d{i}", sealed(SEALED, f"d{i}", one_hot(two.stage, i)))
    assert main(["withdraw", "d5", *store]) == 0
    capsys.readouterr()
    two.tick()
    two.talk()
    assert "nobody knows any more" in fails(capsys, "withdraw", "d2", *store)
    assert main(["withdraw", "d2", "--future", *store]) == 0
    assert main(["status", *store]) == 0
    said = capsys.readouterr().out
    assert "sealed (final): 5 opened in 1 sum(s), 0 wait" in said
    assert "withdrawn: 2" in said
