"""Which round it is, and who is in it; nothing about tasks that have a single one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from aggregator.cli import main
from aggregator.federation import Federation
from aggregator.overview.overview import overview
from aggregator.overview.rounds import current
from tests.aggregator.batches import started
from tests.aggregator.federations import make_task, topic
from tests.aggregator.rounds.made import TASK, raw


def test_devices_are_counted_once_and_rounds_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    for device, round in ((0, 1), (1, 1), (0, 3)):
        made.take(topic(TASK, f"d{device}"), raw(device, round))
    made.commit(1.0)
    entry = overview(made.store, made.federations["test"], 2.0, recount=True)
    assert entry["stages"]["final"] == {"devices": 2, "records": 180, "recount": True}
    assert entry["devices"]["reported"] == 2
    assert entry["rounds"] == {
        "of": 6,
        "current": 3,
        "counted": [
            {"round": 1, "devices": 2, "records": 120},
            {"round": 3, "devices": 1, "records": 60},
        ],
        "moved": None,
        "drift_since": None,
    }
    assert entry["progress"]["waits_for"]["code"] == "estimate"
    made.estimate(3.0)
    entry = overview(made.store, made.federations["test"], 4.0)
    assert entry["progress"]["waits_for"]["code"] == "nothing"
    assert entry["history"][-1]["round"] == 3
    made.store.close()
    store = ["--store", f"sqlite:{tmp_path / 's.db'}"]
    assert main(["devices", "--json", *store]) == 0
    listed = json.loads(capsys.readouterr().out)["reports"]
    assert [(row["device"], row["round"]) for row in listed] == [("d0", 1), ("d1", 1), ("d0", 3)]
    assert main(["devices", *store]) == 0
    shown = capsys.readouterr().out
    header = " ".join(shown.split("\n")[0].split())
    assert header == "task device stage round records counted at"
    assert "2 devices, 3 reports" in shown


def test_a_task_with_one_round_says_nothing_of_it(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", make_task())
    assert "rounds" not in overview(made.store, made.federations["test"], 2.0)
    made.store.close()


@pytest.mark.parametrize(
    ("now", "round"), [(0.0, 0), (999.0, 0), (1000.0, 1), (1059.0, 1), (1060.0, 2), (1e9, 6)]
)
def test_with_a_start_the_clock_says_which_round_it_is(now: float, round: int) -> None:
    clocked = replace(TASK, report=TASK.report._replace(start=1000, every=60.0))
    assert current(Federation(clocked), 4, now) == round
    assert current(Federation(TASK), 4, now) == 4
