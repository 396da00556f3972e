"""How far a run is: nothing for short ones, a line now and then for long ones."""

from __future__ import annotations

import sys

import pytest

from sim_devices.results import progress


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_short_run_says_nothing(clock, capsys):
    with progress.watched("wine", "points") as update:
        for done in range(4):
            clock[0] += 2.0
            update(done, 3)
    assert capsys.readouterr().err == ""


def test_a_long_run_says_how_far_it_is_every_ten_seconds(clock, capsys):
    with progress.watched("wine", "points") as update:
        for done in range(6):
            clock[0] += 6.0
            update(done, 5)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [f"wine: {done} of 5 points" for done in (1, 3, 5)]


def test_on_a_terminal_there_is_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.watched("wine", "points") as update:
        update(3, 5)
    assert "wine" in capsys.readouterr().err
