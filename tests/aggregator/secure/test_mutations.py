"""Sealed reports and words between aggregators with flipped, lost and added bytes: no crash."""

from __future__ import annotations

import logging
import random
from pathlib import Path

import msgpack
import pytest

from fsir.privacy.plan import first_stage
from fsir.secure.ring import ring_of
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.wire.cohort import Answer, Heading, Proposal, encode_cohort
from fsir.wire.messages import topic
from tests.aggregator.secure.pair import PAIRS, Two, noise_of, one_hot, sealed, secure_task

TASK = secure_task(4, cohort=4)
STAGE = first_stage(TASK)
TOTAL = bytes(ring_of(TASK, STAGE).length)
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
    ids = tuple(sorted(two.ids))
    heading = Heading(task=TASK.digest, stage="final", number=1)
    answer = encode_cohort(Answer(heading, ids, TOTAL), PAIRS[HELPER].sign)
    said = [(HELPER, proposal.topic, proposal.payload)]
    said.append((LEADER, topic(TASK.name, "cohort", HELPER), answer))
    seeds += len(ROLES) * said  # a third of all
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


def signed_again(rng: random.Random, raw: bytes) -> bytes:
    """A message whose body is mutated, and signed by the aggregator that it is of."""
    envelope = msgpack.unpackb(raw)
    body = mutated(rng, envelope["body"])
    label = b"fsir cohort message\0" + envelope["by"].encode() + b"\0"
    signature = PAIRS[envelope["by"]].sign(label + body)
    packed: bytes = msgpack.packb(envelope | {"body": body, "signature": signature})
    return packed


@pytest.mark.parametrize("count", [1_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_hostile_aggregator_that_signs_mutations_crashes_nothing_and_opens_nothing_twice(
    tmp_path: Path, count: int
) -> None:
    """Past the signature; what fits by chance may be opened, by both rules: enough, and once."""
    rng = random.Random(count)
    two = Two(tmp_path, TASK)
    for i in range(40):
        two.send(f"d{i}", sealed(TASK, f"d{i}", one_hot(STAGE, i % 6)))
    two.tick()
    ids = tuple(sorted(two.ids))
    heading = Heading(task=TASK.digest, stage="final", number=1)
    proposal = encode_cohort(Proposal(heading, ids[:5]), PAIRS[LEADER].sign)
    answer = encode_cohort(Answer(heading, ids[:5], TOTAL), PAIRS[HELPER].sign)
    places = {role: topic(TASK.name, "cohort", role) for role in ROLES}
    for number in range(count):
        two.cores[HELPER].take(places[LEADER], signed_again(rng, proposal))
        two.cores[LEADER].take(places[HELPER], signed_again(rng, answer))
        if number % AT_ONCE == AT_ONCE - 1:
            for role in ROLES:
                two.keep(role, two.cores[role].commit(two.now))
    for role in ROLES:
        cohorts = list(two.opened_ids(role).values())
        assert sum(map(len, cohorts)) == len(set().union(*cohorts))
        assert all(len(cohort) >= 4 for cohort in cohorts)
        assert two.cores[role].verdicts[TASK.name, "wrong cohort"] > count // 4
        assert not two.cores[role].verdicts[TASK.name, "internal error"]
