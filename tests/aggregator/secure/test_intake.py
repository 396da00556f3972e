"""Sealed reports: each is answered by both, and what does not belong is refused with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fsir.privacy.plan import first_stage
from fsir.secure.keys import KeyPair
from fsir.secure.sealing import context, seal
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.wire.decode import decode
from fsir.wire.messages import Ask, Receipt, Report, encode, report_id, topic
from fsir.wire.shared import decode_shared, encode_shared
from tests.aggregator.federations import release_of
from tests.aggregator.secure.pair import PAIRS, Two, one_hot, sealed, secure_task

TASK = secure_task(4, cohort=4)
STAGE = first_stage(TASK)


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path, TASK)


def test_both_answer_in_places_of_their_own(two: Two) -> None:
    raw = sealed(TASK, "d0", one_hot(STAGE, 0))
    two.send("d0", raw)
    receipts = [p for p in two.told if "/receipt/" in p.topic]
    place = topic(TASK.name, "receipt", "d0")
    assert [p.topic for p in receipts] == [place, f"{place}/helper"]
    assert not any(p.retain or p.qos for p in receipts)  # who misses one asks
    again = two.send("d0", raw)
    assert [r.verdicts["final"].status for r in again] == ["duplicate"] * 2
    assert [r.verdicts["final"].report for r in again] == [report_id(raw)] * 2


def test_another_report_of_the_same_device_is_refused(two: Two) -> None:
    two.send("d0", sealed(TASK, "d0", one_hot(STAGE, 0)))
    for receipt in two.send("d0", sealed(TASK, "d0", one_hot(STAGE, 0))):
        assert receipt.verdicts["final"].reason.startswith("second report")
    assert all(two.store(role).waiting_shares(1) == {("final", 1, 0): 1} for role in ROLES)


def _other_key(shared: Any) -> Any:
    other = KeyPair.new("else").party.exchange_key
    payloads = {LEADER: bytes(len(shared.leader) - 48), HELPER: bytes(32)}
    sealed_again = {r: seal(other, payloads[r], context(shared, r)) for r in ROLES}
    return shared._replace(**sealed_again)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: s._replace(task=bytes(32)), "wrong task"),
        (lambda s: s._replace(device="d1"), "wrong device"),
        (lambda s: s._replace(stage="screening"), "wrong stage"),
        (lambda s: s._replace(round=2), "wrong round"),
        (lambda s: s._replace(n=99), "wrong size"),
        (lambda s: s._replace(leader=s.leader + b"0"), "wrong shape"),
        (lambda s: s._replace(helper=s.helper[:-1]), "wrong shape"),
        (lambda s: s._replace(id=bytes(16)), "does not open"),
        (_other_key, "does not open"),
    ],
)
def test_what_does_not_belong_is_refused_by_both(two: Two, change: Any, reason: str) -> None:
    shared = decode_shared(sealed(TASK, "d0", one_hot(STAGE, 0)))
    raw = encode_shared(change(shared))
    for receipt in two.send("d0", raw):
        (verdict,) = receipt.verdicts.values()
        assert verdict.status == "refused"
        assert verdict.reason.startswith(reason)
        assert verdict.report == report_id(raw)
    for role in ROLES:
        assert two.store(role).waiting_shares(1) == {}
        assert [row.reason for row in two.store(role).refused(5)] == [reason]


def test_a_report_that_is_not_sealed_or_no_report_is_malformed(two: Two) -> None:
    blocks = release_of(TASK, STAGE, 1).blocks
    plain = Report(task=TASK.digest, device="d0", stage="final", n=100, blocks=blocks)
    for raw in (encode(plain), b"", b"\xc1", b"\x80"):
        for receipt in two.send("d0", raw):
            assert receipt.verdicts["final"].reason.startswith("malformed")


def test_one_share_that_opens_does_not_help_the_other(two: Two) -> None:
    shared = decode_shared(sealed(TASK, "d0", one_hot(STAGE, 0)))
    spoiled = seal(PAIRS[HELPER].party.exchange_key, bytes(32), context(shared, LEADER))
    answers = two.send("d0", encode_shared(shared._replace(helper=spoiled)))
    assert [r.verdicts["final"].status for r in answers] == ["counted", "refused"]


def test_both_answer_asks_and_the_leader_alone_keeps_the_number(two: Two) -> None:
    two.send("d0", raw := sealed(TASK, "d0", one_hot(STAGE, 0)))
    place = topic(TASK.name, "ask", "d0")
    for name, holds in ((b"a" * 16, b"a" * 16), (b"b" * 16, b"a" * 16)):
        for role, number in ((LEADER, holds), (HELPER, name)):
            core = two.cores[role]
            core.take(place, encode(Ask(TASK.digest, "d0", name)))
            (told,) = core.commit(2.0)
            answer = decode(told.payload, Receipt)
            assert (answer.by, answer.instance) == (role, number)
            assert answer.verdicts["final"].report == report_id(raw)
            assert not told.retain
    assert two.store(LEADER).instances(1, ["d0"]) == {"d0": b"a" * 16}
    assert two.store(HELPER).instances(1, ["d0"]) == {}


def test_both_hear_reports_and_asks_and_each_other(two: Two) -> None:
    for role in (LEADER, HELPER):
        assert topic(TASK.name, "ask", "+") in two.cores[role].topics()
    assert two.cores[LEADER].topics()[-1] == topic(TASK.name, "cohort", "helper")
    shared = two.cores[HELPER].topics("many")
    assert shared[0].startswith("$share/many/")
    assert shared[-1] == topic(TASK.name, "cohort", "leader")


def test_a_helper_takes_only_devices_on_its_roster_if_it_has_one(two: Two) -> None:
    store = two.store(HELPER)
    with store.transaction():
        store.enrol(TASK.name, ["d0", "d1"], 1.0)
    answers = {
        device: two.send(device, sealed(TASK, device, one_hot(STAGE, 0))) for device in ("d0", "d2")
    }
    assert [r.verdicts["final"].status for r in answers["d0"]] == ["counted", "counted"]
    assert [r.verdicts["final"].status for r in answers["d2"]] == ["counted", "refused"]
    assert "not on the roster of the helper" in answers["d2"][1].verdicts["final"].reason
