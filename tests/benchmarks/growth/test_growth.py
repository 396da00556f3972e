"""What is said of how fleets grow follows from what was measured."""

from pathlib import Path

import pytest

from benchmarks import growth
from benchmarks.growth.picture import draw

SECONDS = {100: 1.0, 1000: 2.0, 5000: 8.0}


def told() -> growth.Told:
    """Three rounds of two who are equally fast, once with a hiccup."""
    return [
        {"who": who, "devices": size, "seconds": usual * hiccup, "memory": 50.0, "counted": size}
        for who in (growth.OURS, growth.EMBEDDED)
        for size, usual in (SECONDS | {growth.LARGEST: 40.0}).items()
        for hiccup in (1.0, 1.0, 9.0)
    ]


def test_medians_stand_for_the_rounds_and_every_bar_has_a_figure() -> None:
    figures = growth.figures(told())
    assert set(growth.BARS) <= set(figures)
    assert figures["5,000 devices / 1,000 devices, mosquitto"] == pytest.approx(4.0)
    assert figures["embedded broker / mosquitto, 5,000 devices"] == pytest.approx(1.0)
    assert figures["memory of the simulator, kB a device"] == 0.0
    assert figures["20,000 devices in one run: counted / came"] == 1.0


def test_the_picture_shows_whoever_was_measured(tmp_path: Path) -> None:
    draw(growth.medians(told()), tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
