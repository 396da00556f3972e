"""Hostile words between aggregators: refused with the reason, nothing is opened, all goes on."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest

from fsir.limits import ID_BYTES, MOST_IN_COHORT
from fsir.privacy.plan import first_stage
from fsir.secure.keys import KeyPair, verifier
from fsir.secure.ring import ring_of
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.wire.cohort import Answer, Declined, Heading, Proposal, decode_cohort, encode_cohort
from fsir.wire.messages import topic
from tests.aggregator.secure.pair import PAIRS, Two, one_hot, sealed, secure_task

TASK = secure_task(4, cohort=4)
STAGE = first_stage(TASK)
HEADING = Heading(task=TASK.digest, stage="final", number=1)
LEADS = topic(TASK.name, "cohort", "leader")
HELPS = topic(TASK.name, "cohort", "helper")
TOTAL = bytes(ring_of(TASK, STAGE).length)


@pytest.fixture
def two(tmp_path: Path) -> Two:
    made = Two(tmp_path, TASK)
    for i in range(6):
        made.send(f"d{i}", sealed(TASK, f"d{i}", one_hot(STAGE, i)))
    return made


def ids_of(two: Two) -> tuple[bytes, ...]:
    return tuple(sorted(two.ids))


def ask(two: Two, heading: Heading, ids: tuple[bytes, ...], **how: Any) -> Any:
    """What the helper says to a proposal; None if it says nothing."""
    sign = how.get("sign", PAIRS[LEADER].sign)
    two.give(HELPER, LEADS, encode_cohort(Proposal(heading, tuple(sorted(ids))), sign))
    if not two.lines[HELPER]:
        return None
    said = two.lines[HELPER].pop()
    assert said.topic == HELPS
    assert TASK.secure is not None
    return decode_cohort(said.payload, verifier(TASK.secure))


def quarantined(two: Two, role: str) -> list[str]:
    return [row.detail for row in two.store(role).refused(10)]


def nothing_is_opened(two: Two) -> None:
    assert [two.opened_ids(role) for role in ROLES] == [{}, {}]
    assert two.opened() == {}
    two.tick()
    two.talk()  # and the honest ones go on
    assert [len(ids) for ids in two.opened_ids(HELPER).values()] == [6]
    assert list(two.opened()) == [(1, 0, 1)]


def test_a_proposal_that_the_leader_has_not_signed(two: Two) -> None:
    for pair in (KeyPair.new("hospital"), PAIRS[HELPER]):
        assert ask(two, HEADING, ids_of(two), sign=pair.sign) is None
    assert ["signature" in text for text in quarantined(two, HELPER)] == [True, True]
    nothing_is_opened(two)


@pytest.mark.parametrize(
    "change",
    [
        {"task": bytes(32)},
        {"stage": "screening"},
        {"round": 2},
        {"group": 1},
    ],
)
def test_a_proposal_about_another_task_stage_round_or_group(
    two: Two, change: dict[str, Any]
) -> None:
    answer = ask(two, replace(HEADING, **change), ids_of(two))
    assert isinstance(answer, Declined)
    assert next(iter(change)) in answer.reason
    nothing_is_opened(two)


def test_a_proposal_of_too_few_or_of_foreign_reports(two: Two) -> None:
    few = ask(two, HEADING, ids_of(two)[:3])
    assert isinstance(few, Declined)
    assert "3 of 3 reports wait here, at least 4 are needed" in few.reason
    foreign = ask(two, HEADING, (*ids_of(two)[:3], *(os.urandom(ID_BYTES) for _ in range(50))))
    assert isinstance(foreign, Declined)
    assert "3 of 53" in foreign.reason
    nothing_is_opened(two)


def test_foreign_reports_are_left_out_where_enough_are_here(two: Two) -> None:
    answer = ask(two, HEADING, (*ids_of(two)[:4], os.urandom(ID_BYTES)))
    assert isinstance(answer, Answer)
    assert answer.ids == ids_of(two)[:4]


def test_cohorts_that_overlap_open_nothing_twice(two: Two) -> None:
    assert isinstance(ask(two, HEADING, ids_of(two)[:4]), Answer)
    for number in (2, 3, 1000):
        again = ask(two, replace(HEADING, number=number), ids_of(two))
        assert isinstance(again, Declined)
        assert "2 of 6 reports wait here" in again.reason
    assert [len(ids) for ids in two.opened_ids(HELPER).values()] == [4]


def test_the_same_heading_with_other_reports_gets_the_same_answer(two: Two) -> None:
    first = ask(two, HEADING, ids_of(two)[:4])
    assert ask(two, HEADING, ids_of(two)[1:]) == first
    assert ask(two, HEADING, ids_of(two)[:4]) == first
    assert [len(ids) for ids in two.opened_ids(HELPER).values()] == [4]


def test_a_million_ids_and_other_garbage(two: Two) -> None:
    body = {
        "message": "proposal",
        "task": TASK.digest,
        "stage": "final",
        "number": 1,
        "group": 0,
        "ids": os.urandom(ID_BYTES * 10**6),
    }
    packed = msgpack.packb(body)
    label = b"fsir cohort message\0leader\0"
    envelope = {
        "v": 1,
        "kind": "cohort",
        "by": "leader",
        "body": packed,
        "signature": PAIRS[LEADER].sign(label + packed),
    }
    two.give(HELPER, LEADS, msgpack.packb(envelope))
    ordered = tuple(sorted(os.urandom(ID_BYTES) for _ in range(MOST_IN_COHORT)))
    assert isinstance(ask(two, HEADING, ordered), Declined)
    for raw in (b"", b"\x80", os.urandom(1000), msgpack.packb({"v": 1, "kind": "cohort"})):
        for role, place in ((HELPER, LEADS), (LEADER, HELPS)):
            two.give(role, place, raw)
    assert len(quarantined(two, HELPER)) == 5
    assert len(quarantined(two, LEADER)) == 4
    assert two.cores[HELPER].verdicts[TASK.name, "wrong cohort"] == 5
    nothing_is_opened(two)


def test_a_word_of_ones_own_role_comes_back(two: Two) -> None:
    proposal = encode_cohort(Proposal(HEADING, ids_of(two)), PAIRS[LEADER].sign)
    two.give(LEADER, HELPS, proposal)
    two.give(HELPER, LEADS, encode_cohort(Declined(HEADING, "no"), PAIRS[HELPER].sign))
    assert [len(quarantined(two, role)) for role in ROLES] == [1, 1]
    nothing_is_opened(two)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"number": 7}, "never proposed"),
        ({"round": 2}, "never proposed"),
        ({"task": bytes(32)}, "never proposed"),
    ],
)
def test_an_answer_to_what_nobody_has_proposed(
    two: Two, changes: dict[str, Any], reason: str
) -> None:
    two.tick()
    heading = replace(HEADING, **changes)
    two.give(LEADER, HELPS, encode_cohort(Answer(heading, ids_of(two), TOTAL), PAIRS[HELPER].sign))
    assert reason in quarantined(two, LEADER)[0]
    nothing_is_opened(two)


@pytest.mark.parametrize(
    ("few", "total", "sign", "reason"),
    [
        (True, TOTAL, PAIRS[HELPER].sign, "at least 4 are needed"),
        (False, TOTAL[1:], PAIRS[HELPER].sign, "bytes"),
        (False, TOTAL, PAIRS[LEADER].sign, "signature"),
    ],
)
def test_an_answer_that_cannot_be_used(
    two: Two, few: bool, total: bytes, sign: Any, reason: str
) -> None:
    two.tick()
    ids = ids_of(two)[:3] if few else ids_of(two)
    two.give(LEADER, HELPS, encode_cohort(Answer(HEADING, ids, total), sign))
    assert reason in quarantined(two, LEADER)[0]
    nothing_is_opened(two)


def test_an_answer_about_reports_that_the_leader_has_not_closes_the_cohort(two: Two) -> None:
    """Such as after its store was restored: nothing is opened, and later cohorts are."""
    two.tick()
    two.lines[LEADER].clear()
    ids = tuple(sorted((*ids_of(two)[:4], os.urandom(ID_BYTES))))
    two.give(LEADER, HELPS, encode_cohort(Answer(HEADING, ids, TOTAL), PAIRS[HELPER].sign))
    assert two.opened() == {}
    assert two.store(LEADER).waiting_shares(1) == {("final", 1, 0): 2}
    for i in range(6, 8):
        two.send(f"d{i}", sealed(TASK, f"d{i}", one_hot(STAGE, i)))
    two.tick()
    two.talk()
    assert list(two.opened()) == [(1, 0, 2)]
