"""`--task FILE|NAME`: a file pins what its owner has read; a name is looked up."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli_w

from edge_agent.agent import Phase
from edge_agent.commands.settings.tasks import Wanted, check_pins, named_task, wanted_tasks
from edge_agent.errors import SourceError, StateError
from edge_agent.state.state import State
from fsir.errors import TaskError
from fsir.task.task import Task
from fsir.wire.messages import topic
from tests.edge_agent.world import DEVICE, simulated
from tests.fsir.tasks import task

READ = task(name="activity")
OTHER = task(name="activity", privacy={"epsilon": 0.5})


def written(path: Path, of: Task) -> str:
    path.write_text(tomli_w.dumps(of.table()), encoding="utf-8")
    return str(path)


def test_a_file_gives_name_and_digest_and_a_name_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path / "mine.toml", READ)
    assert wanted_tasks([file, "other"]) == [Wanted("activity", READ.digest), Wanted("other")]
    # Whatever it is called, if it is there.
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "plain", READ)
    assert wanted_tasks(["plain"]) == [Wanted("activity", READ.digest)]


def test_a_task_is_named_once_in_a_file_or_not(tmp_path: Path) -> None:
    file = written(tmp_path / "mine.toml", READ)
    with pytest.raises(SourceError, match="name each task once"):
        wanted_tasks([file, "activity"])


def test_a_file_that_cannot_be_read_is_not_taken_for_a_name(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="does not exist"):
        wanted_tasks([str(tmp_path / "none.toml")])
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(TaskError, match="Is a directory"):
        wanted_tasks([str(tmp_path / "folder.toml")])


# --- what is published ----------------------------------------------------------------------------


def test_only_the_task_that_the_owner_has_read_is_accepted() -> None:
    agent = simulated(READ, digest=READ.digest)
    assert agent.phase is Phase.LEARNING


def test_another_task_of_the_name_is_refused_with_both_digests() -> None:
    state = State(None, DEVICE, simulated=True)
    agent = simulated(OTHER, state=state, digest=READ.digest)
    assert agent.phase is Phase.WAITING
    assert state.pins() == []
    for digest in (READ.digest, OTHER.digest):
        assert digest.hex()[:16] in agent.reason
    assert state.notes() == {"activity": agent.reason}
    # The right one may still come.
    agent.receive(topic("activity", "task"), READ.encode())
    assert (agent.phase, agent.reason) == (Phase.LEARNING, "")


def test_a_file_that_is_not_what_was_accepted_is_a_mistake(tmp_path: Path) -> None:
    state = State(tmp_path, DEVICE, simulated=True)
    simulated(READ, state=state)
    check_pins(state, [Wanted("activity", READ.digest), Wanted("activity"), Wanted("new")])
    with pytest.raises(StateError) as caught:
        check_pins(state, [Wanted("activity", OTHER.digest)])
    for words in (READ.digest.hex()[:16], OTHER.digest.hex()[:16], "forget --task activity"):
        assert words in str(caught.value)
    state.close()


# --- by name, for `check` -------------------------------------------------------------------------


def test_a_name_is_looked_up_in_the_state(tmp_path: Path) -> None:
    state = State(tmp_path / "s", DEVICE, simulated=True)
    simulated(READ, state=state)
    state.close()
    assert named_task("activity", str(tmp_path / "s"), None) == READ
    with pytest.raises(SourceError, match=r"has accepted no such task; .*--broker URL"):
        named_task("other", str(tmp_path / "s"), None)
    with pytest.raises(SourceError, match="there is no such file; give its file, or say with"):
        named_task("other", None, None)
    with pytest.raises(SourceError, match="no task can be called so"):
        named_task("a/#", None, None)
