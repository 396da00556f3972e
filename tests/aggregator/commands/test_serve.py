"""`fsir-aggregator serve`: what it says before it connects."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import tomli_w

from aggregator.cli import main
from aggregator.commands.serve import LATER
from aggregator.mqtt.client_id import FIRST_NAME, client_id
from aggregator.store.opening import open_store
from aggregator.store.postgres import workers
from tests.aggregator.commands.lines import TASK, fails
from tests.aggregator.federations import make_task
from tests.deploy.tools import DEPLOY
from tests.postgres import Cluster


def test_errors_name_the_value_and_the_remedy(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    serve = ["serve", "--store", store, "--broker"]
    assert "does not exist" in fails(capsys, *serve, "mqtt://localhost", "--task", "none.toml")
    file = tmp_path / "t.toml"
    file.write_text(tomli_w.dumps(TASK.table()))
    assert "mqtt://HOST" in fails(capsys, *serve, "localhost:1883", "--task", str(file))
    changed = tmp_path / "changed.toml"
    changed.write_text(tomli_w.dumps(make_task(p=3, records=61).table()))
    assert "give it epoch 2" in fails(capsys, *serve, "mqtt://localhost", "--task", str(changed))


def test_who_may_look_is_settled_before_anything_runs(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.toml"
    file.write_text(tomli_w.dumps(TASK.table()))
    serve = ["serve", "--store", store, "--broker", "mqtt://localhost", "--task", str(file)]
    token = str(tmp_path / "token")
    assert "give --http too" in fails(capsys, *serve, "--http-token-file", token)
    here = [*serve, "--http", "127.0.0.1:0"]
    assert "X-Remote-User" in fails(capsys, *here, "--http-user-header", "Remote User")
    assert "--http-token-file" in fails(capsys, *serve, "--http", "0.0.0.0:0")
    Path(token).write_text("short")
    assert "a good one is made" in fails(capsys, *here, "--http-token-file", token)


def test_a_new_store_gets_its_own_name_though_another_is_used_at_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "t.toml"
    file.write_text(tomli_w.dumps(TASK.table()))
    place = f"sqlite:{tmp_path / 'new.db'}"
    serve = ["serve", "--store", place, "--broker", "mqtt://localhost", "--task", str(file)]
    fails(capsys, *serve, "--worker", "first", "--http", "0.0.0.0:0")
    with closing(open_store(place)) as store:
        store.add_task(TASK.digest, TASK.name, 1, b"body", 1.0)  # it was served under the other
        assert client_id(store).startswith(f"{FIRST_NAME}-")


def test_a_store_that_is_out_of_reach_is_no_wrong_setting(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    postgres: Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The unit starts it again after status 1, and not after status 2."""
    monkeypatch.setattr(workers, "_JOIN_SECONDS", 0.0)
    file = tmp_path / "t.toml"
    file.write_text(tomli_w.dumps(TASK.table()))
    serve = ["serve", "--broker", "mqtt://localhost", "--task", str(file), "--worker", "one"]
    assert main([*serve, "--store", "postgresql:///db?host=/nowhere"]) == LATER
    assert "of a server that runs; start again later" in capsys.readouterr().err
    there = postgres.fresh()
    with closing(open_store(there)) as other:
        other.join("one")
        assert main([*serve, "--store", there]) == LATER
    assert "give each its own --worker" in capsys.readouterr().err
    unit = (DEPLOY / "systemd" / "fsir-aggregator.service").read_text()
    assert f"RestartPreventExitStatus={LATER}" not in unit
