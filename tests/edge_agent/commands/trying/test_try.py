"""`fsir-agent try` says what is wrong with records before the one report is spent on them."""

from __future__ import annotations

import json
import re

import pytest

from edge_agent.cli import main
from edge_agent.state.database import FILE
from edge_agent.state.state import State
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.commands.trying.tables import (
    write_task,
)
from tests.edge_agent.world import DEVICE, records, simulated
from tests.fsir.tasks import task

# --- the page, as a person sees it ----------------------------------------------------------------

SMALL = task(
    3,
    name="kitchen",
    features={
        "names": ["temp", "humidity", "power"],
        "centre": [20, 50, 100],
        "scale": [3, 10, 80],
    },
    response={"name": "activity", "classes": ["cooking", "idle", "washing"]},
    report={"records": 1000},
)
GOOD = ("21.5,48.0,90.5,cooking", "19.0,55.5,20.5,idle", "23.5,62.0,180.5,washing")


@pytest.fixture
def kitchen(tmp_path, monkeypatch):
    """A folder with a task and a table of readings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSIR_STATE", str(tmp_path / "none"))
    write_task(SMALL, tmp_path / "task.toml")

    def write(lines, header="temp,humidity,power,activity"):
        rows = [
            f"{float(line.split(',')[0]) + k / 100:.2f}{line[line.index(',') :]}"
            if line[0].isdigit()
            else line
            for k, line in enumerate(lines)
        ]
        (tmp_path / "readings.csv").write_text("\n".join([header, *rows]) + "\n")
        return ["try", "--task", "task.toml", "--source", "csv:readings.csv"]

    return write


def page(said, folder):
    """Without what differs between machines."""
    return said.out.replace(str(folder), "DIR")


RIGHT = """\
Task 'kitchen', and 120 records of csv:DIR/readings.csv. Nothing was sent, spent or kept.

columns     3 of 3 features, and the response
records     120 of 120 can be used
features    none is ever cut off
            farthest from the centre, in scales: temp +0.6, humidity +0.5
            33% of the records are longer than the clip, and shortened
response    cooking 33%, idle 33%, washing 33%
pace        not known: the source does not say when records were made (--time-column); the report \
leaves after 1000 of them
gives away  epsilon 1 at delta 1e-06, 1.03 with the decision whether it is held: 18 noisy numbers, \
about 111 bytes; fsir-agent check says more

looks right
"""


def test_the_page_of_a_source_that_looks_right(kitchen, tmp_path, capsys):
    assert main(kitchen(GOOD * 40)) == 0
    assert page(capsys.readouterr(), tmp_path) == RIGHT


def test_the_page_of_one_that_does_not(kitchen, tmp_path, capsys):
    lines = [line.replace("cooking", "Cooking").replace("55.5", "humid") for line in GOOD * 40]
    assert main(kitchen(lines, "temp,humidity,powr,activity")) == 1
    out = page(capsys.readouterr(), tmp_path)
    assert "2 of 3 features; missing: power (powr?)\n" in out
    assert "records     0 of 120 can be used\n" in out
    assert (
        "            40 unknown response: 'activity', the response, has a label that the task does "
        "not know; known are cooking, idle, washing (record 0, line 2)\n" in out
    )
    assert (
        "            80 missing feature: there is no 'power', a feature of the task; is 'powr' "
        "what is meant? rename it (record 1, line 3)\n" in out
    )
    assert out.endswith(
        "2 problems:\n"
        "  1. 1 of 4 columns is missing: 'power' (is 'powr' meant?); rename them in the source\n"
        "  2. 40 of 120 records cannot be used: 'activity', the response, has a label that the "
        "task does not know; known are cooking, idle, washing; perhaps another spelling of "
        "cooking; first in record 0, line 2\n"
    )
    assert "Cooking" not in out


def test_a_text_where_a_number_should_be(kitchen, capsys):
    lines = [line.replace("55.5", "humid") for line in GOOD * 40]
    assert main(kitchen(lines)) == 1
    out = capsys.readouterr().out
    assert (
        "1. 40 of 120 records cannot be used: 'humidity': a text where a number should be; let "
        "that column hold numbers alone; first in record 1, line 3\n" in out
    )
    assert "humid," not in out
    assert "'humid'" not in out


def test_a_column_that_is_called_otherwise_takes_the_nearest(kitchen, capsys):
    assert main(kitchen(GOOD * 40, "Temp ,humidity,power,Activity")) == 1
    out = capsys.readouterr().out
    assert "missing: temp (Temp?), activity (Activity?)" in out


def test_an_empty_table(kitchen, capsys):
    assert main(kitchen([])) == 1
    assert (
        "1. no record came: does the source hold any, and does it send?" in capsys.readouterr().out
    )


def test_times_say_when_the_report_is_due(kitchen, capsys):
    lines = [f"{line},{1_700_000_000 + 60 * k}" for k, line in enumerate(GOOD * 40)]
    arguments = kitchen(lines, "temp,humidity,power,activity,t")
    assert main([*arguments, "--time-column", "t"]) == 0
    out = capsys.readouterr().out
    assert "60 records an hour: the report, about 1000, would be due after 16.7 hours" in out
    assert main([*arguments, "--time-column", "T"]) == 1
    said = "--time-column T: no record has a time there; is 't' meant?"
    assert said in capsys.readouterr().out


def test_for_programs(kitchen, capsys):
    assert main([*kitchen(GOOD * 40), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["looks_right"] is True
    assert answer["problems"] == []
    assert answer["columns"] == {"found": 3, "of": 3, "missing": {}}
    assert answer["classes"]["idle"] == {"share": pytest.approx(1 / 3), "public": None}
    assert answer["report"]["epsilon"] == 1.0
    assert answer["report"]["with_hold"] == pytest.approx(1.033, abs=0.002)
    assert answer["pace"]["records_per_hour"] is None
    lines = [line.replace("idle", "sleeping") for line in GOOD * 40]
    assert main([*kitchen(lines), "--json"]) == 1
    (refused,) = json.loads(capsys.readouterr().out)["refused"]
    assert (refused["reason"], refused["count"]) == ("unknown response", 40)
    assert (refused["record"], refused["line"]) == (1, 3)


def test_only_so_many_records_are_looked_at(kitchen, capsys):
    assert main([*kitchen(GOOD * 40), "--records", "30"]) == 0
    assert "30 of 30 can be used" in capsys.readouterr().out


# --- what the device agrees to --------------------------------------------------------------------


def test_a_task_that_the_policy_refuses(kitchen, tmp_path, capsys):
    (tmp_path / "agent.toml").write_text('never_share = ["power"]\n')
    assert main([*kitchen(GOOD * 40), "--policy", "agent.toml"]) == 1
    said = "this device would refuse the task: it asks for what the owner never shares: power"
    assert said in capsys.readouterr().out


def test_what_was_spent_counts_and_nothing_of_the_state_is_touched(kitchen, tmp_path, capsys):
    state = State(tmp_path / "state", DEVICE, simulated=True)
    agent = simulated(SMALL, state=state)
    for record in records(SMALL, 10):
        agent.learn(record)
    agent.checkpoint()
    before = (tmp_path / "state" / FILE).read_bytes()
    arguments = kitchen(GOOD * 40)
    arguments[2] = "kitchen"  # as it was accepted, while the agent runs
    assert main([*arguments, "--state", "state"]) == 0
    assert "120 of 120 can be used" in capsys.readouterr().out
    assert (tmp_path / "state" / FILE).read_bytes() == before
    assert [path.name for path in (tmp_path / "state").iterdir()] == [FILE]
    state.close()


def test_a_device_that_has_not_run_yet_has_no_state_and_gets_none(kitchen, tmp_path):
    assert main([*kitchen(GOOD * 40), "--state", "nowhere"]) == 0
    assert not (tmp_path / "nowhere").exists()


def test_a_deadline_that_is_over(kitchen, tmp_path, capsys):
    late = task(3, report={"records": 1000, "deadline": 1_700_000_000, "sigma_0": 1.0})
    write_task(late, tmp_path / "task.toml")
    (tmp_path / "agent.toml").write_text("exact_count = true\n")
    header = "x0,x1,x2,y"
    lines = [
        f"{k % 3 - 1 + k / 500:.3f},{k % 5 - 2},{k % 7 / 3 - 1:.3f},{'abc'[k % 3]}"
        for k in range(60)
    ]
    (tmp_path / "readings.csv").write_text("\n".join([header, *lines]) + "\n")
    arguments = ["try", "--task", "task.toml", "--source", "csv:readings.csv"]
    assert main([*arguments, "--policy", "agent.toml"]) == 1
    out = capsys.readouterr().out
    assert "the report leaves at 2023-11-14 22:13 UTC" in out
    assert "1. the deadline of the task was 2023-11-14 22:13 UTC: a device that has not" in out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--task", "nothing"], "--task nothing: there is no such file; give its file, or say"),
        (["--task", "nothing.toml"], "nothing.toml"),
        (["--source", "csv:nothing.csv"], "nothing.csv: "),
        (["--records", "0"], "--records 0"),
        (["--record-id", "id"], "--record-id means nothing to --source csv:readings.csv"),
    ],
)
def test_mistakes_in_the_settings(kitchen, capsys, more, said):
    assert main([*kitchen(GOOD), *more]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1


# --- other sources --------------------------------------------------------------------------------


def test_json_lines(kitchen, tmp_path, capsys):
    kitchen(GOOD)
    rows = [
        {
            "temp": 20 + k / 50,
            "humidity": 50 - k % 9,
            "power": 80 + k,
            "activity": "idle" if k % 2 else "cooking",
        }
        for k in range(60)
    ]
    rows[3]["temp"] = None
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["try", "--task", "task.toml", "--source", "jsonl:a.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "59 of 60 can be used" in out
    assert "1 not finite: 'temp': nothing where a finite number should be" in out
    assert "(record 3, line 4)" in out
    assert "not seen: washing" in out


@pytest.mark.broker
def test_a_task_is_fetched_from_the_broker_and_nothing_is_left_there(
    kitchen, mosquitto_url, capsys
):

    arguments = kitchen(GOOD * 40)
    arguments[2] = "kitchen"
    with TinyAggregator(mosquitto_url, SMALL) as server:
        assert main([*arguments, "--broker", mosquitto_url]) == 0
        assert "looks right" in capsys.readouterr().out
        assert not [about for about, _ in server.seen if not about.endswith("/task")]


@pytest.mark.broker
def test_a_task_that_the_broker_does_not_have(kitchen, mosquitto_url, capsys, monkeypatch):
    monkeypatch.setattr("edge_agent.commands.settings.tasks.FETCH_SECONDS", 0.5)
    arguments = kitchen(GOOD)
    arguments[2] = "kitchn"
    assert main([*arguments, "--broker", mosquitto_url]) == 2
    said = r"--task kitchn: mqtt://\S+ keeps no such task \(waited for 0 s\)"
    assert re.search(said, capsys.readouterr().err)
