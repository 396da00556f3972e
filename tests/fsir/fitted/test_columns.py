"""Tables that people have, as rows of numbers; what is wrong with one is said."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from fsir.fitted.columns import rows_of
from fsir.fitted.errors import InputError

NAMES = ("acc_x", "acc_y")


@pytest.mark.parametrize("X", [[[1, 2]], ((1.0, 2.0),), np.array([["1", "2"]], dtype=object)])
def test_anything_with_numbers_in_it(X):
    rows = rows_of(X, NAMES)
    assert rows.tolist() == [[1.0, 2.0]]
    assert rows.dtype == np.float64


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([1.0, 2.0], r"two dimensions, got 1\. Reshape your data"),
        ([[1.0]], r"X has 1 features.* expecting 2 .*order: 'acc_x', 'acc_y'"),
        ([[1.0, np.nan], [1.0, 2.0]], "in 1 of 2 rows, first in row 0, 'acc_y'; leave such"),
        ([[1.0, 2.0], [-np.inf, 2.0]], "first in row 1, 'acc_x'"),
        ([[1.0, "fast"]], "no number: 'fast' in row 0, 'acc_y'"),
        ([[1.0, None]], "no number: None in row 0, 'acc_y'|NaN or infinity"),
        ([[1.0, 2.0j]], "Complex data not supported"),
        (np.array([["2026-01-01"] * 2], dtype="datetime64[D]"), "dates or durations"),
    ],
)
def test_what_is_wrong_is_said(X, said):
    with pytest.raises(InputError, match=said):
        rows_of(X, NAMES)


def test_a_sparse_matrix_is_not_taken_for_a_thing():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InputError, match=r"pass X\.toarray\(\)"):
        rows_of(sparse.csr_matrix(np.eye(2)), NAMES)


def test_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"acc_y": [2, 4], "when": [datetime(2026, 1, 1)] * 2, "acc_x": [1, 3]})
    assert rows_of(frame, NAMES).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(InputError, match="lacks 1 of 2 features: 'acc_y'; did you mean 'acc y'"):
        rows_of(pd.DataFrame({"acc y": [1], "acc_x": [2]}), NAMES)
    with pytest.raises(InputError, match="columns of the same name: 'acc_x'"):
        rows_of(pd.DataFrame([[1, 2, 3]], columns=["acc_x", "acc_x", "acc_y"]), NAMES)
    with pytest.raises(InputError, match="no number: 'much' in row 1, 'acc_y'"):
        rows_of(pd.DataFrame({"acc_x": [1, 2], "acc_y": [1, "much"]}), NAMES)
    missing = pd.DataFrame({"acc_x": [1, 2], "acc_y": pd.array([1, None], dtype="Int64")})
    with pytest.raises(InputError, match="row 1, 'acc_y'"):
        rows_of(missing, NAMES)
