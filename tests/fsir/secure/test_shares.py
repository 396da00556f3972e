"""Shares: each one alone is uniform whatever is shared, both together are what was shared."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fsir.errors import MessageError
from fsir.secure.ring import WIDTHS, Ring
from fsir.secure.shares import SEED_BYTES, expanded, split

WORDS = 1_000_000


@pytest.mark.parametrize("bits", WIDTHS)
def test_two_shares_make_the_vector(bits):
    ring = Ring(bits, 100)
    values = np.random.default_rng(bits).integers(-(2**30), 2**30, 100)
    share, seed = split(ring, values)
    assert ring.lift(ring.added([ring.unpack(share), expanded(ring, seed)])).tolist() == (
        values.tolist()
    )
    assert (len(share), len(seed)) == (ring.length, SEED_BYTES)


def test_the_same_vector_is_shared_anew_each_time():
    ring = Ring(32, 8)
    values = np.arange(8)
    drawn = {split(ring, values) for _ in range(20)}
    assert len({share for share, _ in drawn}) == len({seed for _, seed in drawn}) == 20


@pytest.mark.parametrize("values", [np.zeros(WORDS, np.int64), np.full(WORDS, 12345)])
@pytest.mark.parametrize("bits", [32, 48])
def test_a_share_alone_is_uniform(values, bits):
    ring = Ring(bits, WORDS)
    share, seed = split(ring, values)
    for words in (ring.unpack(share), expanded(ring, seed)):
        for shift in (0, 8, bits - 8):  # each byte of a word by itself
            counts = np.bincount((words >> np.uint64(shift)).astype(np.int64) & 255, minlength=256)
            # Fresh draws: one false alarm in 10^9.
            assert stats.chisquare(counts).pvalue > 1e-9


def test_the_stream_is_aes_in_counter_mode_from_zero():
    # The block of zeros under the key 00 01 ... 1f, as every implementation of AES-256 has it.
    seed = bytes(range(32))
    ring = Ring(32, 4)
    assert ring.pack(expanded(ring, seed)).hex() == "f29000b62a499fd0a9f39a6add2e7780"


def test_a_seed_of_another_length_is_refused():
    for length in (0, 31, 33):
        with pytest.raises(MessageError, match="seed"):
            expanded(Ring(32, 1), bytes(length))
