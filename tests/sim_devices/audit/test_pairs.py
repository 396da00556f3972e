"""The explicit neighbours: one record differs, every record is within the clip."""

from __future__ import annotations

import numpy as np
import pytest

from sim_devices.audit.pairs import PAIRS, AuditError, pair


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_differs_in_one_record_and_respects_the_clip(name):
    question = pair(name)

    def multiset(records):
        rows = [(*x, h) for x, h in zip(records.X.tolist(), records.slices.tolist(), strict=True)]
        return sorted(rows)

    first = multiset(question.first)
    second = multiset(question.second)
    assert len(first) == len(second) == question.n
    for row in first.copy():
        if row in second:
            second.remove(row)
            first.remove(row)
    assert len(first) == len(second) == 1
    for records in (question.first, question.second):
        assert np.abs(records.X).max() <= question.truncate
        assert np.linalg.norm(records.X, axis=1).max() <= question.norm * (1 + 1e-12)
        assert 0 <= records.slices.min() <= records.slices.max() < question.slices


def test_unknown_pairs_and_sizes_are_refused_with_the_remedy():
    with pytest.raises(AuditError, match="choose one of A, B"):
        pair("Q")
    with pytest.raises(AuditError, match="even number of features"):
        pair("A", p=9)
