"""The map of a record has no rounding, whatever stands beside the record."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.errors import TaskError
from fsir.task.exact_map import INPUT_BITS, ExactMap
from fsir.task.public_map import Public, pack


def public_of(P, centres):
    q = P.shape[1]
    return Public(records=1, coordinates=q, centres=pack(centres), shares=(1.0,), map=pack(P))


entries = st.one_of(st.floats(-1e6, 1e6, width=32), st.floats(-1.0, 1.0, width=32))
shapes = st.tuples(st.integers(1, 12), st.integers(1, 4))


@st.composite
def maps(draw):
    p, q = draw(shapes)
    rows = draw(st.lists(st.lists(entries, min_size=q, max_size=q), min_size=p, max_size=p))
    P = np.array(rows)
    P[0] += np.where(np.abs(P).max(axis=0) < 1e-3, 1.0, 0.0)
    return P.astype(np.float32).astype(np.float64)


def spread(P, truncate=2.0):
    """An exact map, or nothing if a column is too small beside another one."""
    centres = np.clip(P.sum(axis=0), -1e6, 1e6)[None, :]
    try:
        return ExactMap(public_of(P, centres), len(P), truncate)
    except TaskError as error:
        return None if "column" in str(error) else pytest.fail(str(error))


@given(maps(), st.data())
def test_every_number_is_the_one_that_fractions_give(P, data):
    exact = spread(P)
    if exact is None:
        return
    most = 2**INPUT_BITS
    corners = st.sampled_from([-most, most])
    values = st.one_of(corners, st.integers(-most, most))
    K = data.draw(st.lists(st.lists(values, min_size=len(P), max_size=len(P)), min_size=1))
    slices = np.zeros(len(K), np.int64)
    found = exact.apply(np.array(K, float), slices)
    matrix = [[int(v) for v in row] for row in exact._matrix.tolist()]
    centre = [int(v) for v in exact._centres[0]]
    for row, computed in zip(K, found.tolist(), strict=True):
        for k, value in enumerate(computed):
            whole = sum(a * b[k] for a, b in zip(row, matrix, strict=True)) - centre[k]
            assert abs(whole) <= 2**53
            assert Fraction(value) == whole


@given(maps())
def test_no_sum_can_leave_the_exact_range_and_no_finer_unit_would_do(P):
    exact = spread(P)
    if exact is None:
        return
    assert np.abs(exact._matrix).sum(axis=0).max() <= 2.0**32
    finer = np.abs(np.rint(P * (2.0 * exact._scale))).sum(axis=0).max()
    assert finer > 2.0**32
    assert np.abs(exact._matrix / exact._scale - P).max() <= 0.5 / exact._scale


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64, 65, 300])
def test_a_row_alone_and_in_a_block_gives_the_same_bits(rows):
    rng = np.random.default_rng(rows)
    P = rng.standard_t(2, size=(200, 40))
    exact = ExactMap(public_of(P, P.sum(axis=0)[None, :]), 200, 3.0)
    K = np.trunc(rng.uniform(-(2.0**20), 2.0**20, size=(rows, 200)))
    slices = np.zeros(rows, np.int64)
    block = exact.apply(K, slices)
    alone = [exact.apply(K[i : i + 1], slices[:1])[0] for i in range(rows)]
    assert block.tobytes() == np.array(alone).tobytes()
    backwards = exact.apply(np.asfortranarray(K[::-1]), slices)[::-1]
    assert np.ascontiguousarray(backwards).tobytes() == block.tobytes()


def test_the_identity_is_the_same_with_and_without_its_matrix():
    rng = np.random.default_rng(0)
    K = np.trunc(rng.uniform(-(2.0**20), 2.0**20, size=(50, 5)))
    slices = rng.integers(0, 3, 50)
    centres = pack(rng.uniform(-2.0, 2.0, size=(3, 5)))
    without = Public(records=1, coordinates=5, centres=centres, shares=(1.0,))
    spelt = Public(records=1, coordinates=5, centres=centres, shares=(1.0,), map=pack(np.eye(5)))
    first, second = (ExactMap(public, 5, 2.0) for public in (without, spelt))
    assert first.unit == second.unit
    assert np.array_equal(first.apply(K, slices), second.apply(K, slices))


@pytest.mark.parametrize(
    ("P", "what"),
    [
        (np.zeros((3, 2)), "column 0"),
        (np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), "column 1"),
        (np.array([[1e6, 1e-30], [0.0, 0.0], [0.0, 0.0]]), "column 1"),
    ],
)
def test_a_column_that_says_nothing_is_refused(P, what):
    with pytest.raises(TaskError, match=what):
        ExactMap(public_of(P, np.zeros((1, 2))), 3, 2.0)


def test_a_centre_that_no_record_can_reach_is_refused():
    P = np.array([[1.0], [1.0]])
    ExactMap(public_of(P, [[4.0]]), 2, 2.0)
    with pytest.raises(TaskError, match=r"public.centres = 4\.5: .*farther than 4 from 0"):
        ExactMap(public_of(P, [[4.5]]), 2, 2.0)
