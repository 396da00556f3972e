"""Peers in environments of their own, or left out loudly."""

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.peers import environments


def test_a_peer_that_cannot_be_installed_is_missing_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "PLACE", tmp_path)
    monkeypatch.setitem(environments.PACKAGES, "none", ["--no-index", "fsir-no-such-package"])
    with pytest.raises(environments.MissingPeerError, match=r"none: .*fsir-no-such-package"):
        environments.python_of("none")
    assert not (tmp_path / "none" / "ready").exists()


def test_our_own_work_runs_in_this_environment() -> None:
    assert environments.python_of("ours") == sys.executable


def test_who_is_missing_is_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(peer: str, work: str, *arguments: object) -> dict[str, float]:
        if peer == "away":
            raise environments.MissingPeerError("away: no network")
        return {"seconds": 2.0}

    monkeypatch.setattr(peers, "said", said)
    told = peers._in_turns(("ours", "a", ()), ("away", "b", ()))
    assert told == {"a": [{"seconds": 2.0}] * peers.ROUNDS}
    assert "SKIPPED: away: no network" in capsys.readouterr().err


def test_the_same_subspace_is_at_no_angle_whatever_its_basis() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    basis = rng.normal(size=(4, 2))
    assert peers._degrees(X, basis, basis @ [[2.0, 1.0], [0.0, 3.0]]) < 1e-5
    assert peers._degrees(X, basis, rng.normal(size=(4, 2))) > 1.0
