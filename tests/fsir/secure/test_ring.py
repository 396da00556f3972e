"""Residues: sums in any order, lifted back to what they are, in bytes of a fixed length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.errors import MessageError
from fsir.limits import MOST_IN_COHORT
from fsir.privacy.moments import Moments
from fsir.privacy.noise import NoiseOfBytes
from fsir.privacy.plan import all_stages, first_stage
from fsir.privacy.release import release
from fsir.secure.ring import MOST_SIGMAS, WIDTHS, Ring, largest_sum, ring_of
from tests.fsir.privacy.words import normal_of
from tests.fsir.tasks import shared


class Farthest(NoiseOfBytes):
    """Words that all stand for the largest normal that there is."""

    def _bytes(self, count):
        return (b"\x01" + bytes(15)) * (count // 16)


@st.composite
def summands(draw):
    """A ring, and vectors whose sum stays within it."""
    bits = draw(st.sampled_from(WIDTHS))
    count = draw(st.integers(1, 8))
    largest = 2 ** (bits - 1) // count - 1
    row = st.lists(st.integers(-largest, largest), min_size=3, max_size=3)
    rows = draw(st.lists(row, min_size=count, max_size=count))
    return Ring(bits, 3), [np.array(row, np.int64) for row in rows]


@given(summands(), st.randoms())
def test_the_residues_of_a_sum_are_those_of_its_summands_in_any_order(made, random):
    ring, rows = made
    mixed = list(rows)
    random.shuffle(mixed)
    total = ring.added([ring.residues(row) for row in mixed])
    assert ring.lift(total).tolist() == np.sum(rows, axis=0).tolist()
    assert ring.unpack(ring.pack(total)).tolist() == total.tolist()
    assert len(ring.pack(total)) == ring.length


@given(summands())
def test_what_is_taken_away_again_leaves_no_trace(made):
    ring, rows = made
    one = ring.residues(rows[0])
    other = ring.residues(rows[-1])
    assert ring.added([ring.difference(one, other), other]).tolist() == one.tolist()


@pytest.mark.parametrize("bits", WIDTHS)
def test_the_ends_of_a_ring_are_what_they_are(bits):
    ring = Ring(bits, 4)
    ends = np.array([-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, -1, 0], np.int64)
    assert ring.lift(ring.residues(ends)).tolist() == ends.tolist()
    assert ring.added([]).tolist() == [0, 0, 0, 0]


def test_bytes_of_another_length_are_refused():
    ring = Ring(48, 5)
    for length in (0, 29, 31, 40):
        with pytest.raises(MessageError, match="bytes"):
            ring.unpack(bytes(length))


def test_a_ring_is_wide_enough_for_the_largest_honest_cohort():
    for n in (1, 1000, 10**5, 2**25 - 1):
        for cohort in (2, 100):
            task = shared(cohort=cohort, report={"records": n})
            for stage in all_stages(task):
                ring = ring_of(task, stage)
                assert largest_sum(task, stage) < 2 ** (ring.bits - 1)
                narrower = [bits for bits in WIDTHS if bits < ring.bits]
                assert all(largest_sum(task, stage) >= 2 ** (bits - 1) for bits in narrower)
    assert ring_of(shared(), first_stage(shared())).bits == 32


def test_the_rule_leaves_room_for_the_farthest_noise_of_any_round():
    task = shared(report={"records": 1, "rounds": 50})
    stage = first_stage(task)
    reach = sum(abs(b) for b in stage.factorisation.coefficients)
    assert reach > 1.5
    farthest = MOST_SIGMAS * reach * max(block.sd / block.worth for block in stage.blocks)
    assert MOST_IN_COHORT * farthest < largest_sum(task, stage)
    assert largest_sum(task, stage) < 2.0 * MOST_IN_COHORT * farthest


def test_nothing_that_a_device_publishes_is_farther_out_than_the_rule_says():
    task = shared(report={"records": 50})
    stage = first_stage(task)
    moments = Moments(task, stage)
    moments.learn_many(np.full((50, 3), 1e9), ["a"] * 50)
    published = np.concatenate(release(moments, Farthest()).blocks)
    assert MOST_IN_COHORT * np.abs(published).max() < largest_sum(task, stage)
    # ... and not much nearer, where all records are as far out as they can be.
    assert MOST_IN_COHORT * np.abs(published).max() > 0.5 * largest_sum(task, stage)


def test_no_word_of_the_sampler_is_farther_out():
    assert max(abs(normal_of(0)), abs(normal_of(1))) < MOST_SIGMAS
