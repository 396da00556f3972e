"""What the page says of a roster, where others have reported too: everybody counts once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aggregator.daemon import Daemon
from aggregator.overview.devices import MEANINGS
from aggregator.page import document
from fsir.net.broker import Broker
from tests.aggregator.batches import deliver, started
from tests.aggregator.federations import make_task

TASK = make_task(p=3, records=60)
WIDTH = 1000.0  # of the bar


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, str]:
    """Six have reported; of the five on the roster two, and one was withdrawn."""
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(made, TASK, range(6))
    made.store.enrol("test", ["d0", "d1", "z1", "z2", "z3"], 1.0)
    made.withdraw("z3", 2.0)
    shown = document.parts(Daemon(made, Broker.parse("mqtt://127.0.0.1:1")).overview())
    made.store.close()
    return shown


def words(html: str) -> str:
    """Without explanations."""
    return re.sub("<[^>]*>", "", re.sub('<span class="tip".*?</span>', "", html))


def test_who_is_not_on_the_roster_takes_the_place_of_nobody_who_is(parts: dict[str, str]) -> None:
    told = words(parts["task0-headline"])
    assert told == "2 of 4 devices on the roster counted, and 4 not on it"
    assert 'value="2" max="4"' in parts["task0-progress"]


def test_in_the_bar_everybody_stands_once(parts: dict[str, str]) -> None:
    bar = parts["task0-devices"].split("</svg>")[0]
    widths = [float(found) for found in re.findall(r'<rect [^>]*width="([0-9.]+)"', bar)]
    devices = {"reported": 2, "silent": 2, "withdrawn": 1, "unlisted": 4}
    assert list(devices) == [state for state in MEANINGS if state in devices]
    label = ", ".join(f"{count} {state}" for state, count in devices.items())
    assert f'aria-label="Devices: {label}"' in bar
    gap = 3.0
    assert widths == pytest.approx([count / 9 * WIDTH - gap for count in devices.values()], abs=0.1)
