"""Words stand for the normals that the standard library finds one by one, to the last bit."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.privacy.noise import SeededNoise
from fsir.privacy.normal import WORD_BYTES
from fsir.privacy.normal.words import normals_of
from tests.fsir.privacy.words import normal_of


def bits_of(values):
    return np.asarray(values, np.float64).view(np.uint64).tolist()


def check(words):
    """The same bits, also of zeros."""
    raw = b"".join(word.to_bytes(WORD_BYTES, "little") for word in words)
    assert bits_of(normals_of(raw)) == bits_of([normal_of(word) for word in words])


def test_a_hundred_thousand_random_words():
    words = random.Random(1)
    check([words.getrandbits(128) for _ in range(100_000)])


def test_words_of_every_length():
    words = random.Random(2)
    check([words.getrandbits(length) for length in range(1, 129) for _ in range(200)])


def test_words_around_every_power_of_two_and_at_both_ends():
    near = [2**k + away for k in range(128) for away in range(-3, 4)]
    check([word for word in near if word >= 0] + [2**128 - 1 - k for k in range(8)])


@pytest.mark.parametrize("length", [54, 55, 64, 100, 117, 118, 119, 127, 128])
def test_words_half_way_between_two_doubles(length):
    """The next bit after the 53 that are kept is 1 and all but the last ones are 0."""
    words = random.Random(3)
    half_way = [
        ((2**52 | words.getrandbits(52)) << 1 | 1) << (length - 54)
        for length in [length] * 500
        if length >= 54
    ]
    check([max(0, word + away) for word in half_way for away in (-2, -1, 0, 1, 2)])


@pytest.mark.parametrize("tail", [0.075, 2.718281828459045**-25], ids=["tail", "far tail"])
def test_words_at_the_borders_of_the_approximation(tail):
    middle = int(tail * 2.0**129)
    fine = max(1, middle >> 60)
    check([middle + k * fine for k in range(-3000, 3000)])


@given(st.lists(st.integers(0, 2**128 - 1), min_size=1, max_size=30))
def test_any_words(words):
    check(words)


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 16383, 16384, 16385, 40_000])
def test_however_many_they_are(count):
    raw = hashlib.shake_128(b"words").digest(WORD_BYTES * 40_000)
    assert bits_of(normals_of(raw[: WORD_BYTES * count])) == bits_of(normals_of(raw)[:count])


def test_a_seed_gives_what_it_always_gave():
    published = SeededNoise(7, "wide").perturb(np.zeros(20_000), sd=100.0, step=8)
    digest = hashlib.sha256(published.astype("<i8").tobytes()).hexdigest()
    assert digest == "1cfc9f00db72ad183f8b19f5eeec486f676811325228e80f7991cd24348b3ef3"
