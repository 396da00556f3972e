"""`fsir-agent check`: what a task takes, and whether the device would take part."""

from __future__ import annotations

import json

from edge_agent.cli import main
from edge_agent.consent.policy import Policy
from tests.fsir.tasks import mapped, screened, task


def test_check_says_what_a_task_takes_and_whether_it_may(files, capsys):
    assert main(["check", *files(task())]) == 0
    said = capsys.readouterr().out
    assert "This device would take part." in said
    assert "noisy numbers" in said
    assert main(["check", *files(task(), "epsilon = 0.5\nunit_records = 2")]) == 1
    said = capsys.readouterr().out
    assert "REFUSES" in said
    assert "protects 1 record" in said


def test_check_tells_of_a_public_map(files, capsys):
    assert main(["check", *files(mapped(6, 3))]) == 0
    said = capsys.readouterr().out
    assert "each record is turned into 3 numbers by a public map" in said
    assert "This device would take part." in said


def test_check_for_programs(files, capsys):
    unproven = task(privacy={"mechanism": "vgm"})
    assert main(["check", "--json", *files(unproven)]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["accepted"] is False
    assert "not proven" in answer["reasons"][0]
    assert answer["digest"] == unproven.digest.hex()


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


def test_check_tells_what_holding_a_report_costs_and_does_not_cover(files, capsys):
    long = task(report={"records": 1000})
    assert main(["check", *files(long)]) == 0
    said = capsys.readouterr().out
    assert (
        "A report about records that are plainly not what the task expects waits for the owner "
        "(hold).\nThat it does not come is seen. The decision is noisy and counts as well: "
        "epsilon 1.03 in all.\nWhat the owner does then is not covered by it.\n" in said
    )
    assert main(["check", *files(long, "hold = false")]) == 0
    assert "whatever its records are like (hold = false)" in capsys.readouterr().out
    for of, policy in ((task(), ""), (long, "epsilon = 1.01")):
        assert main(["check", *files(of, policy)]) == 0
        assert "there are too few of them, or too little\nbudget" in capsys.readouterr().out
    unproven = task(privacy={"mechanism": "none"}, report={"records": 1000})
    assert main(["check", *files(unproven, 'unproven = ["none"]')]) == 0
    assert "is noisy and counts as well.\n" in capsys.readouterr().out


def test_check_counts_what_was_spent_in_the_usual_place(files, lived, capsys, monkeypatch):
    arguments = files(task(name="more", privacy={"epsilon": 1.9}))
    monkeypatch.setenv("FSIR_STATE", str(lived / "none"))
    assert main(["check", *arguments]) == 0
    assert "spent already" not in capsys.readouterr().out
    monkeypatch.setenv("FSIR_STATE", str(lived))
    assert main(["check", *arguments]) == 1
    said = capsys.readouterr().out
    assert said.endswith(f"What the device of {lived} has spent already is counted.\n")


def test_check_takes_the_name_of_a_task_that_was_accepted(lived, capsys):
    assert main(["check", "--task", "done", "--state", str(lived), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["task"] == "done"
    assert main(["check", "--task", "none", "--state", str(lived)]) == 2
    assert "has accepted no such task" in capsys.readouterr().err
