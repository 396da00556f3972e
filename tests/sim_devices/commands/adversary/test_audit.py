"""The commands as a user types them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fsir.privacy.noise import SystemNoise
from sim_devices.audit.__main__ import main
from sim_devices.audit.finding import CONFIDENCE

TASK = """
name = "heart"
features = { names = ["a", "b"], centre = [1.0, 0.0], scale = [2.0, 1.0] }
response = { name = "y", cuts = [0.0, 1.0] }
clip = { truncate = 2.0, norm = 2.5 }
privacy = { epsilon = 1.0, delta = 1e-5, mechanism = "MECHANISM" }
report = { records = 40 }
"""
FRESH = 'screening = { records = "fresh", keep = 1, limit = 2, final_norm = 2.5 }\n'
VERDICTS = {
    "gaussian": "consistent",
    "iid": "consistent",
    "vgm": "violated",
    "none": "violated",
}


def asked(capsys, line: str, *more: str):
    assert main([*line.split(), *more, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_question_is_answered_with_the_documented_keys(capsys):
    answer = asked(capsys, "audit --mechanism vgm --pair C --epsilon 1 --samples 2000")
    assert answer["verdict"] == "violated"
    assert answer["epsilon_lower_bound"] >= 21
    assert answer["delta"] == pytest.approx(1000**-1.1)
    assert answer["confidence"] == 1.0


def test_an_infinite_epsilon_is_still_a_number(capsys):
    answer = asked(capsys, "audit --mechanism ccmd --pair ccmd --delta 1e-6")
    assert answer["epsilon_lower_bound"] > 1e308
    assert answer["verdict"] == "violated"


def test_nothing_found_is_no_proof(capsys):
    assert asked(capsys, "audit --mechanism centred --pair Z")["verdict"] == "not proven"


@pytest.mark.long
def test_all_pairs_of_the_default_are_consistent_and_text_says_so(capsys):
    assert main(["audit", "--mechanism", "gaussian"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert all(line.startswith("CONSISTENT") for line in lines)


def test_a_public_dimension_can_be_given(capsys):
    answer = asked(capsys, "audit --mechanism vgm --pair B --dimension 1 --samples 2000")
    assert answer["verdict"] == "violated"


def written(tmp_path, task: str, records: int = 50) -> list[str]:
    rng = np.random.default_rng(1)
    drawn = rng.standard_normal((records, 3)) * 2
    rows = "\n".join(f"{a:.4f},{b:.4f},{y:.4f}" for a, b, y in drawn)
    (tmp_path / "data.csv").write_text("a,b,y\n" + rows + "\n")
    (tmp_path / "task.toml").write_text(task)
    return ["--task", str(tmp_path / "task.toml"), "--data", str(tmp_path / "data.csv")]


@pytest.mark.parametrize("mechanism", VERDICTS)
def test_a_task_is_searched_with_its_own_data(capsys, tmp_path, mechanism):
    """There is a verdict about every mechanism, also where there is no noise at all."""
    files = written(tmp_path, TASK.replace("MECHANISM", mechanism))
    answer = asked(capsys, "audit --samples 2000", *files)
    assert answer["mechanism"] == mechanism
    assert answer["verdict"] == VERDICTS[mechanism]
    assert answer["faults"] == []
    if mechanism == "gaussian":
        assert answer["epsilon_lower_bound"] > 0.9
    if mechanism == "none":
        assert answer["epsilon_lower_bound"] > 1e308


def test_a_task_with_fresh_records_is_not_charged_twice(capsys, tmp_path):
    files = written(tmp_path, TASK.replace("MECHANISM", "gaussian") + FRESH, records=90)
    answer = asked(capsys, "audit --samples 2000", *files)
    assert answer["verdict"] == "consistent"
    assert 0.9 < answer["epsilon_lower_bound"] <= 1.0
    assert "agents publish this law" in answer["note"]


def test_data_that_make_no_report_are_judged_by_their_law_alone(capsys, tmp_path):
    files = written(tmp_path, TASK.replace("MECHANISM", "gaussian"), records=30)
    answer = asked(capsys, "audit --samples 2000", *files)
    assert answer["verdict"] == "consistent"
    assert "no agent was run" in answer["note"]


@pytest.mark.long
@pytest.mark.parametrize("line", ["--mechanism gaussian --pair search", "--mechanism iid --pair Z"])
def test_noise_that_is_deleted_is_found_on_every_pair(capsys, monkeypatch, line):
    monkeypatch.setattr(SystemNoise, "_bytes", lambda self, count: b"\xff" * count)
    answer = asked(capsys, f"audit {line} --n 100 --samples 2000")
    assert answer["verdict"] == "violated"
    assert "agents publish another law" in answer["note"]
    assert answer["faults"]


def test_the_agent_can_be_asked(capsys):
    answer = asked(capsys, "audit --mechanism agent --runs 100 --seed 1 --delta 0.01")
    assert answer["mechanism"] == "agent"
    assert answer["verdict"] == "consistent"
    assert answer["confidence"] == CONFIDENCE


@pytest.mark.long
def test_a_quick_audit_asks_the_agent_all_its_cases(capsys):
    assert main(["audit", "--quick", "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)
    pairs = [table["pair"] for table in tables]
    assert {"two processes", "half a step", "slice 0 -> 1", "two stages, votes"} <= set(pairs)
    violated = [table["mechanism"] for table in tables if table["verdict"] == "violated"]
    assert violated[-1] == "agent (no-noise)"
    # Beside it only the mistakes that are made with rounds on purpose.
    assert violated[:-1] == ["rounds"] * 6
    assert all(table["verdict"] in ("consistent", "violated") for table in tables)


@pytest.mark.long
def test_a_quick_audit_fails_if_the_agent_does(capsys, monkeypatch):
    whole = SystemNoise._bytes
    monkeypatch.setattr(SystemNoise, "_bytes", lambda self, count: whole(self, 16) * (count // 16))
    assert main(["audit", "--quick"]) == 1
    assert "UNEXPECTED: VIOLATED: agent on canary" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit", "--mechanism", "gauss"], "choose one of gaussian"),
        (["audit", "--mechanism", "vgm", "--pair", "D"], "choose one of A"),
        (["audit", "--task", "none.toml", "--data", "x.csv"], "does not exist"),
        (["attack", "--data", "none.csv"], "does not exist"),
        (["attack", "--repetitions", "0"], "at least one"),
    ],
)
def test_mistakes_are_named_with_the_remedy(capsys, arguments, said):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_a_task_needs_data_that_fit(capsys, tmp_path):
    (tmp_path / "task.toml").write_text(TASK.replace("MECHANISM", "gaussian"))
    (tmp_path / "data.csv").write_text("a,y\n1,2\n")
    task = ["--task", str(tmp_path / "task.toml")]
    assert main(["audit", *task]) == 2
    assert "--data" in capsys.readouterr().err
    assert main(["audit", *task, "--data", str(tmp_path / "data.csv")]) == 2
    assert "lacks the columns ['b']" in capsys.readouterr().err


def test_an_attack_leaves_a_picture_and_areas(capsys, tmp_path):
    picture = tmp_path / "new" / "roc.png"
    answer = asked(capsys, "attack --data independent --repetitions 2 --out", str(picture))
    assert answer["picture"] == str(picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    attacks = answer["data"][0]["attacks"]
    assert attacks["raw slice means"]["auc"] > 0.8
    assert attacks["all that the agent sends"]["repetitions"] == 2


@pytest.mark.slow
@pytest.mark.timeout(1500)  # minutes of work, on a machine that may be busy
def test_the_whole_suite_is_as_expected(capsys):
    assert main(["audit", "--runs", "1000", "--seed", "1", "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert len(tables) > 40
    assert all(table["expected"] for table in tables)
