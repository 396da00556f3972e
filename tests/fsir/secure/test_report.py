"""The sealed report: what both aggregators make of it, and where it does not open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsir.errors import MessageError, TaskError
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import final_stage, first_stage, report_size
from fsir.privacy.release import Release
from fsir.secure.keys import KeyPair
from fsir.secure.opening import aggregator_noise, noised_sum, opened
from fsir.secure.report import ShareReader, sealed_lengths, sealed_report
from fsir.secure.sealing import context, seal
from fsir.secure.shares import SEED_BYTES
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.task.task import Screening
from fsir.wire.length import report_bytes
from fsir.wire.shared import decode_shared, encode_shared
from tests.fsir.secure.made import PAIRS, keyed_task, released
from tests.fsir.tasks import shared

TASK = keyed_task()
STAGE = first_stage(TASK)
READERS = {role: ShareReader(TASK, STAGE, role, PAIRS[role]) for role in ROLES}


def report(seed=1, device="pi-7", **how):
    return sealed_report(TASK, STAGE, device, released(TASK, seed), **how)


def test_what_is_opened_is_the_sum_of_all_integers_and_both_noises_bit_for_bit():
    releases = [released(TASK, seed) for seed in range(7)]
    reports = [
        decode_shared(encode_shared(sealed_report(TASK, STAGE, f"pi-{i}", one)))
        for i, one in enumerate(releases)
    ]
    ring = READERS[LEADER].ring
    sums = {}
    for role, order in ((LEADER, reports), (HELPER, reports[::-1])):
        reader = READERS[role]
        shares = [reader.share(reader.payload(one)) for one in order]
        sums[role] = noised_sum(STAGE, ring, shares, SeededNoise(3, role))
    exact = sum(np.concatenate(one.blocks) for one in releases)
    noises = [aggregator_noise(STAGE, SeededNoise(3, role)) for role in ROLES]
    assert opened(ring, sums[LEADER], sums[HELPER]).tolist() == (exact + sum(noises)).tolist()


def test_every_report_of_a_stage_has_the_same_length():
    small = released(TASK, 1)
    large = small._replace(blocks=tuple(block * 10**6 for block in small.blocks))
    reports = [sealed_report(TASK, STAGE, "pi-7", one) for one in (small, large, small)]
    assert len({len(encode_shared(one)) for one in reports}) == 1
    assert len({one.id for one in reports}) == 3
    assert (len(reports[0].leader), len(reports[0].helper)) == sealed_lengths(READERS[LEADER].ring)


@pytest.mark.parametrize(
    "change",
    [
        {"device": "pi-8"},
        {"id": bytes(16)},
        {"round": 2},
        {"leader": None},
        {"helper": None},
    ],
)
def test_a_share_opens_in_its_own_place_only(change):
    one = report()
    other = report(seed=2)
    swap = {key: getattr(other, key) if value is None else value for key, value in change.items()}
    moved = one._replace(**swap)
    for role in ROLES:
        if change == {"leader": None} and role == HELPER:
            continue
        if change == {"helper": None} and role == LEADER:
            continue
        with pytest.raises(MessageError, match="does not open"):
            READERS[role].payload(moved)


@pytest.mark.parametrize(
    "change",
    [{"task": bytes(32)}, {"stage": "screening"}, {"n": 99}, {"leader": bytes(48)}],
)
def test_what_is_not_of_this_stage_is_refused_before_it_is_opened(change):
    with pytest.raises(MessageError):
        READERS[LEADER].payload(report()._replace(**change))


def test_a_share_opens_under_the_active_set_that_it_was_sealed_for_alone():
    """Else whoever shows another one to the helper would get noise of another layout from it."""
    task = replace(TASK, screening=Screening(limit=3, final_norm_factor=1.0))
    mine, smaller, other = (final_stage(task, active) for active in ((0, 1), (1,), (0, 2)))
    blocks = tuple(np.zeros(block.size, np.int64) for block in mine.blocks)
    one = sealed_report(task, mine, "pi-7", Release(report_size(task), blocks))
    for stage in (mine, smaller, other):
        reader = ShareReader(task, stage, HELPER, PAIRS[HELPER])
        faked = one._replace(leader=bytes(sealed_lengths(reader.ring)[0]))
        if stage is mine:
            assert len(reader.payload(faked)) == SEED_BYTES
            continue
        with pytest.raises(MessageError, match="does not open"):
            reader.payload(faked)


def test_a_share_that_is_sealed_to_another_key_does_not_open():
    one = report()
    payload = bytes(READERS[LEADER].ring.length)
    crossed = seal(PAIRS[HELPER].party.exchange_key, payload, context(one, LEADER))
    with pytest.raises(MessageError, match="does not open"):
        READERS[LEADER].payload(one._replace(leader=crossed))


def test_a_reader_needs_the_key_that_the_task_names():
    with pytest.raises(TaskError, match="key file of 'hospital'"):
        ShareReader(TASK, STAGE, LEADER, PAIRS[HELPER])
    with pytest.raises(TaskError, match="key file"):
        ShareReader(TASK, STAGE, LEADER, KeyPair.new("hospital"))


def test_nothing_is_sealed_to_a_key_that_hides_nothing():
    weak = TASK.secure.leader._replace(key="A" * 86 + "==")
    task = replace(TASK, secure=TASK.secure._replace(leader=weak))
    with pytest.raises(MessageError, match="nothing can be sealed"):
        sealed_report(task, STAGE, "pi-7", released(TASK, 1))


def test_a_task_without_two_aggregators_has_no_sealed_reports():
    local = replace(shared(), secure=None, aggregation=None)
    with pytest.raises(TaskError, match="secure"):
        sealed_report(local, STAGE, "pi-7", released(TASK, 1))


def test_how_long_a_report_will_be_is_known_before_there_is_one():
    made = len(encode_shared(report()))
    assert abs(report_bytes(STAGE) - made) < 20
