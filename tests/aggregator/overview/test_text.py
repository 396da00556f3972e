"""The few lines of `status`: what is known is there, what is not is left out."""

from __future__ import annotations

from pathlib import Path

from aggregator.core import Aggregator
from aggregator.overview.overview import overview
from aggregator.overview.progress import EXPECT
from aggregator.overview.text import lines
from tests.aggregator.batches import deliver, started
from tests.aggregator.federations import make_task, screening_task

TASK = make_task(p=3, records=60)


def shown(made: Aggregator, now: float = 1000.0) -> str:
    (federation,) = made.federations.values()
    return "\n".join(lines(overview(made.store, federation, now)))


def test_before_anything_has_come_it_says_what_it_waits_for(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK)
    assert shown(made).split("\n")[1:] == [
        "  final: 0 devices, 0 records",
        "  subspace: none yet; waits for the first report",
        "  refused: none; withdrawn: 0",
    ]


def test_target_rate_and_time_to_go(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    made.store.put_setting(EXPECT, "50")
    for i in range(11):
        deliver(made, TASK, range(i, i + 1), 100.0 * i)
    made.estimate(1000.0)
    text = shown(made)
    # 11 reports in 1000 s are 10 intervals of 100 s each; 39 are missing.
    assert "final reports: 11 of 50 expected, 36 an hour (the last 11 reports)" in text
    assert "about 65 min to go" in text
    assert "waits for the reports of 39 more device(s)" in text
    assert "with 22 devices like these: expected error" in text
    assert "turned by" not in text  # there is one version
    deliver(made, TASK, range(11, 20), 1001.0)
    made.estimate(1002.0)
    assert "turned by" in shown(made)


def test_a_high_rate_is_written_out(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    for i in range(5):
        deliver(made, TASK, range(i, i + 1), float(i))
    assert "final reports: 3,600 an hour" in shown(made, 4.0)


def test_when_all_have_come_nothing_is_waited_for(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    made.store.enrol("test", ["d0", "d1"], 0.0)
    deliver(made, TASK, range(2), 1.0)
    made.estimate(2.0)
    text = shown(made)
    assert "final reports: 2 of 2 on the roster" in text
    assert "waits for" not in text
    assert "to go" not in text
    assert "not yet" not in text


def test_who_is_missing_is_named_as_far_as_a_line_reaches(tmp_path: Path) -> None:
    task = screening_task(quorum=9)
    made = started(tmp_path / "s.db", task)
    made.store.enrol("screened", [f"d{i}" for i in range(9)], 0.0)
    deliver(made, task, range(4), 1.0)
    text = shown(made)
    assert "screening reports: 4 of 9 on the roster" in text
    assert "not yet: 5 silent (d4, d5, d6, ...)" in text
    assert "5 more screening report(s) (4 of 9)" in text
