"""Sealed reports and words between aggregators with flipped, lost and added bytes: no crash."""

from __future__ import annotations

import logging
import random
from pathlib import Path

import pytest

from fsir.privacy.plan import first_stage
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.wire.messages import topic
from tests.aggregator.secure.pair import Two, noise_of, one_hot, sealed, secure_task

TASK = secure_task(4, cohort=4)
STAGE = first_stage(TASK)
AT_ONCE = 500


def mutated(rng: random.Random, raw: bytes) -> bytes:
    """The bytes with a few changes."""
    changed = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(changed) + 1)
        what = rng.random()
        if what < 0.6 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif what < 0.8:
            del changed[at : at + rng.randrange(1, 40)]
        else:
            changed[at:at] = rng.randbytes(rng.randrange(1, 40))
    # Nothing may have been lost behind the end.
    return bytes(changed) if changed != raw else mutated(rng, raw)


@pytest.mark.parametrize("count", [2_000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_mutations_crash_nothing_and_open_nothing(
    tmp_path: Path, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    rng = random.Random(count)
    two = Two(tmp_path, TASK)
    reports = {f"d{i}": sealed(TASK, f"d{i}", one_hot(STAGE, i)) for i in range(6)}
    for device, raw in reports.items():
        two.send(device, raw)
    two.tick()
    proposal = two.lines[LEADER][0]
    seeds = [
        (role, topic(TASK.name, "report", d), raw) for role in ROLES for d, raw in reports.items()
    ]
    seeds.append((HELPER, proposal.topic, proposal.payload))
    for number in range(count):
        role, place, raw = rng.choice(seeds)
        two.cores[role].take(place, mutated(rng, raw))
        if number % AT_ONCE == AT_ONCE - 1:
            for each in ROLES:
                two.keep(each, two.cores[each].commit(two.now))
    for each in ROLES:
        two.keep(each, two.cores[each].commit(two.now))
    assert caplog.records == []
    assert two.opened() == {}
    assert two.store(HELPER).waiting_shares(1) == {("final", 1, 0): 6}
    two.talk()
    plain = two.opened()[1, 0, 1] - sum(noise_of(STAGE, role) for role in ROLES)
    assert plain.tolist() == [1] * 6 + [0] * (len(plain) - 6)
