"""Leader, helper, broker and devices, all processes, killed with -9 at random moments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fsir.task.secure import HELPER, LEADER
from tests.needs import need
from tests.system.harness.forkserver import ForkServer
from tests.system.secure.fleet import VICTIMS, Fleet

pytestmark = pytest.mark.broker
QUICK = 2
FEDERATIONS = 50
MOMENTS = 4  # at which each federation is hit: 200 in all
LONGEST_SECONDS = 0.6  # between two of them


def federations() -> list[Any]:
    """Those of every run, and those of the nightly one."""
    slow = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, FEDERATIONS)]
    return [*(pytest.param(seed, marks=pytest.mark.long) for seed in range(QUICK)), *slow]


@pytest.mark.parametrize("seed", federations())
def test_whoever_is_killed_every_device_is_opened_once_and_pays_once(
    seed: int, tmp_path: Path, forkserver: ForkServer
) -> None:
    """Each federation loses each of the four once, in some order."""
    need("mosquitto")
    fleet = Fleet(tmp_path, forkserver, devices=6, cohort=3, seed=seed)
    try:
        for victim in fleet.rng.sample(VICTIMS, MOMENTS):
            fleet.start_missing()
            fleet.live(fleet.rng.uniform(0.0, LONGEST_SECONDS))
            fleet.kill(victim)
        fleet.start_missing()
        fleet.finish()
        fleet.check()
        assert set(fleet.kills.values()) == {1}
        assert len(fleet.opened(LEADER)) >= 3
    finally:
        fleet.close()


@pytest.mark.long
def test_a_device_that_seals_again_for_a_retry_is_found_out(
    tmp_path: Path, forkserver: ForkServer
) -> None:
    """Does the harness see? When the helper falls silent, every device must send again."""
    need("mosquitto")
    # Slowly, so that the helper is gone before any report is made, however busy the machine is.
    how: dict[str, Any] = {"broken": "fresh noise on retry", "pace": 5.0}
    fleet = Fleet(tmp_path, forkserver, devices=3, cohort=3, seed=1, **how)
    try:
        fleet.until(lambda: fleet.listens, "the listener has no connection")
        fleet.start_missing()
        fleet.until(fleet.all_greeted, "not every device is greeted by both")
        fleet.kill(HELPER)
        fleet.until(lambda: max(map(len, fleet.payloads.values())) > 1, "nobody has sent twice")
        for child in fleet.children.values():
            child.kill()
        with pytest.raises(AssertionError, match="has sent another"):
            fleet.check()
    finally:
        fleet.close()
