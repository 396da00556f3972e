"""The explicit neighbours: one record differs, every record is within the clip."""

from __future__ import annotations

import numpy as np
import pytest

from sim_devices.audit.pairs import PAIRS, AuditError, pair


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_differs_in_one_record_and_respects_the_clip(name):
    found = pair(name)

    def multiset(records):
        rows = [(*x, h) for x, h in zip(records.X.tolist(), records.slices.tolist(), strict=True)]
        return sorted(rows)

    first, second = multiset(found.first), multiset(found.second)
    assert len(first) == len(second) == found.n
    for row in first.copy():
        if row in second:
            second.remove(row)
            first.remove(row)
    assert len(first) == len(second) == 1
    for records in (found.first, found.second):
        assert np.abs(records.X).max() <= found.truncate
        assert np.linalg.norm(records.X, axis=1).max() <= found.norm * (1 + 1e-12)
        assert 0 <= records.slices.min() <= records.slices.max() < found.slices


def test_unknown_pairs_and_sizes_are_refused_with_the_remedy():
    with pytest.raises(AuditError, match="choose one of A, B"):
        pair("Q")
    with pytest.raises(AuditError, match="even number of features"):
        pair("A", p=9)
