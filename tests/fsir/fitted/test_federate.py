"""A table becomes a federation and a subspace, in one call."""

from __future__ import annotations

import numpy as np
import pytest

import fsir


@pytest.mark.long
def test_a_frame_becomes_a_subspace_that_can_be_used_at_once():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(12), 120)
    state = rng.choice(["off", "slow", "fast"], len(person))
    X = rng.normal(size=(len(person), 4)) + 0.3 * rng.normal(size=(12, 4))[person]
    X[:, 0] += 2.0 * (state == "fast")
    X[:, 1] -= 2.0 * (state == "slow")
    frame = pd.DataFrame(X, columns=["heat", "noise", "flow", "light"])
    frame = frame.assign(state=state, person=[f"p{k}" for k in person])
    subspace, controls = fsir.federate(frame, response="state", by="person", epsilon=2.0)
    assert isinstance(subspace, fsir.Subspace)
    assert set(subspace.feature_names_in_) <= {"heat", "noise", "flow", "light"}
    assert subspace.score(frame, frame["state"]) > 0.6
    assert controls.verdict
    assert fsir.load(subspace.to_json().encode()).to_json() == subspace.to_json()
