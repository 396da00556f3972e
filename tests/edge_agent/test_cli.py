"""The command line: check, status, ledger, forget, and mistakes."""

from __future__ import annotations

import json

import pytest
import tomli_w

from edge_agent.cli import main
from edge_agent.consent.policy import Policy
from edge_agent.state.state import State
from tests.edge_agent.world import DEVICE, active, data, receipt, simulated, subspace
from tests.fsir.tasks import screened, task

TWO = {"keep": 2, "limit": 4, "final_norm": 1.5}


@pytest.fixture
def files(tmp_path):
    """A task file and a policy file."""

    def write(of, policy=""):
        (tmp_path / "task.toml").write_text(tomli_w.dumps(of.table()))
        (tmp_path / "agent.toml").write_text(policy)
        return ["--task", str(tmp_path / "task.toml"), "--policy", str(tmp_path / "agent.toml")]

    return write


@pytest.fixture
def lived(tmp_path):
    """The state of a device that has reported one task and is in the middle of another."""
    done, busy = (
        task(name="done", privacy={"epsilon": 0.5}),
        task(6, name="busy", privacy={"epsilon": 0.5}, screening=TWO),
    )
    state = State(tmp_path / "state", DEVICE, simulated=True)
    agent = simulated(done, state=state)
    agent.learn_many(*data(done, 100))
    agent.receive(*receipt(done, agent.outgoing(1.0)))
    agent.receive(*subspace(done, done.features.names))
    other = simulated(busy, state=state)
    X, y = data(busy, 40)
    y[3] = "?"
    other.learn_many(X, y)
    other.checkpoint()
    simulated(task(name="greedy", privacy={"epsilon": 3.0}), state=state)
    state.close()
    return tmp_path / "state"


def test_check_says_what_a_task_takes_and_whether_it_may(files, capsys):
    assert main(["check", *files(task())]) == 0
    said = capsys.readouterr().out
    assert "This device would take part." in said
    assert "noisy numbers" in said
    assert main(["check", *files(task(), "epsilon = 0.5\nunit_records = 2")]) == 1
    said = capsys.readouterr().out
    assert "REFUSES" in said
    assert "protects 1 record" in said


def test_check_for_programs(files, capsys):
    assert main(["check", "--json", *files(task(privacy={"mechanism": "vgm"}))]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["accepted"] is False
    assert "not proven" in found["reasons"][0]
    assert found["digest"] == task(privacy={"mechanism": "vgm"}).digest.hex()


def test_check_agrees_with_the_policy_that_the_agent_applies(files, capsys):
    for of in (task(), task(privacy={"epsilon": 5.0}), screened(records="fresh")):
        accepted = main(["check", "--json", *files(of)]) == 0
        assert accepted == (not Policy().refusals(of))
    capsys.readouterr()


def test_check_counts_what_was_spent_already(files, lived, capsys):
    arguments = files(task(name="more", privacy={"epsilon": 1.9}))
    assert main(["check", *arguments]) == 0
    assert main(["check", *arguments, "--state", str(lived)]) == 1
    assert "is spent" in capsys.readouterr().out


def test_status(lived, capsys):
    assert main(["status", "--state", str(lived)]) == 0
    said = capsys.readouterr().out
    assert "39 of 100" in said
    assert "1 records not accepted: unknown response" in said
    assert "version 1, 1 directions" in said
    assert main(["status", "--json", "--state", str(lived)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["epsilon_spent"] == pytest.approx(0.5, rel=1e-3)
    by_name = {entry["task"]: entry for entry in found["tasks"]}
    assert by_name["busy"]["phase"] == "learning"
    assert by_name["greedy"]["phase"] == "refused"
    assert by_name["done"]["reports"] == {"final": "counted"}
    assert "cap is 2" in by_name["greedy"]["reason"]


def test_a_cap_that_nobody_has_named_is_not_called_the_owners(lived, tmp_path, capsys):
    (tmp_path / "agent.toml").write_text("epsilon = 20.0\n")
    for command in ("status", "ledger"):
        assert main([command, "--state", str(lived)]) == 0
        assert "; the default cap is 2 (--policy FILE for your own)" in capsys.readouterr().out
        assert main([command, "--state", str(lived), "--policy", str(tmp_path / "agent.toml")]) == 0
        assert "; the owner's cap is 20\n" in capsys.readouterr().out


def test_ledger(lived, capsys):
    assert main(["ledger", "--state", str(lived)]) == 0
    assert "together: epsilon 0.5 at delta 1e-06; " in capsys.readouterr().out
    assert main(["ledger", "--json", "--state", str(lived)]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["releases"]
    assert (row["task"], row["stage"], row["first"], row["last"], row["verdict"]) == (
        "done",
        "final",
        0,
        99,
        "counted",
    )


def test_an_infinite_cost_is_valid_json(tmp_path, capsys):
    leaky = task(privacy={"mechanism": "none"})
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(leaky, state=state, policy=Policy(unproven=("none",)))
    agent.learn_many(*data(leaky, 100))
    agent.outgoing(1.0)
    state.close()
    assert main(["ledger", "--json", "--state", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] is None
    main(["ledger", "--state", str(tmp_path)])
    assert "no bound" in capsys.readouterr().out


def test_forget(lived, capsys):
    assert main(["forget", "--state", str(lived), "--task", "busy"]) == 0
    main(["status", "--json", "--state", str(lived)])
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert next(entry for entry in found["tasks"] if entry["task"] == "busy")["records"] == 0
    assert main(["forget", "--json", "--state", str(lived), "--unpin"]) == 0
    assert json.loads(capsys.readouterr().out)["forgotten"] == ["busy", "done"]
    main(["ledger", "--json", "--state", str(lived)])
    assert len(json.loads(capsys.readouterr().out)["releases"]) == 1


def test_status_of_a_device_that_waits_for_the_active_set(tmp_path, capsys):
    two = screened()
    state = State(tmp_path, DEVICE, simulated=True)
    agent = simulated(two, state=state)
    agent.learn_many(*data(two, 100))
    agent.outgoing(1.0)
    main(["status", "--json", "--state", str(tmp_path)])  # while the agent runs
    assert json.loads(capsys.readouterr().out)["tasks"][0]["phase"] == "waiting for the active set"
    agent.receive(*active(two, "x1", "x2"))
    agent.outgoing(2.0)
    main(["status", "--json", "--state", str(tmp_path)])
    assert json.loads(capsys.readouterr().out)["tasks"][0]["phase"] == "waiting for the receipt"
    state.close()


RUN = [
    "run",
    "--broker",
    "mqtt://127.0.0.1:9",
    "--task",
    "t",
    "--device",
    "d",
    "--source",
    "jsonl:-",
    "--state",
    "s",
]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["status", "--state", "/nowhere"], "no state file"),
        (["check", "--task", "/nowhere.toml"], "does not exist"),
        ([*RUN[:2], "host", *RUN[3:]], "mqtt://HOST"),
        ([*RUN, "--policy", "/nowhere.toml"], "policy file"),
        ([*RUN, "--task", "t"], "once"),
        ([*RUN, "--speed", "2"], "--time-column"),
        ([*RUN, "--password-file", "/nowhere"], "password file"),
        ([*RUN, "--source", "csv:/nowhere.csv"], "No such file"),
        ([*RUN, "--labels", "shout"], "topic:TOPIC"),
        ([*RUN, "--labels", "topic:"], "topic:TOPIC"),
        ([*RUN, "--labels", "topic:a/#"], "one topic"),
        (
            [*RUN, "--labels", "topic:a"],
            "does not belong on the federation's broker; give the broker of your own",
        ),
        ([*RUN, "--labels", "press", "--source", "csv:/nowhere.csv"], "--time-column"),
        ([*RUN, "--label-delay", "-1"], "--label-delay"),
        (
            [*RUN, "--source", "iio:mpu6050", "--time-column", "t"],
            "--time-column means nothing to --source iio:",
        ),
        (
            [*RUN, "--source", "sensorlogger:http://127.0.0.1:9/x", "--time-column", "t"],
            "it goes with csv: and jsonl:",
        ),
        (
            [*RUN, "--record-id", "seq"],
            "--record-id means nothing to --source jsonl:-: it goes with mqtt:",
        ),
        (
            [*RUN, "--source", "signals:/nowhere.csv", "--time-column", "stamp"],
            "in the column time; name that",
        ),
    ],
)
def test_mistakes_end_with_one_clear_line(arguments, reason, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") == 1
    assert not (tmp_path / "s").exists()


def test_two_agents_on_one_directory(tmp_path, capsys):
    state = State(tmp_path, "d")
    (tmp_path / "x.jsonl").write_text("")
    arguments = [*RUN[:-1], str(tmp_path), "--source", f"jsonl:{tmp_path / 'x.jsonl'}"]
    assert main(arguments) == 2
    assert "another agent is using" in capsys.readouterr().err
    state.close()


def test_help_teaches(capsys):
    for arguments, lesson in ((["--help"], "fsir-agent check --task"), (["run", "--help"], "mqtt:zigbee2mqtt/kitchen"),
                              (["label", "--help"], "--clear")):  # fmt: skip
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 0
        assert lesson in capsys.readouterr().out
