"""Beside its peers, in one run and in turns, each in an environment of its own: medians.

Flower's simulation and a bare paho script for fleets, `sliced` and scikit-learn's linear
discriminant analysis for the directions, IncrementalPCA and River for learning. Who cannot be
installed here is left out, and that is said.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import qr, subspace_angles

from benchmarks.peers.environments import MissingPeerError, said
from sim_devices.datasets.har import har

ROUNDS = int(os.environ.get("FSIR_PEERS_ROUNDS", "3"))
DEVICES = 1000
INDEPENDENT_COLUMNS = 443  # of HAR's 561: with more of them nobody's covariance can be inverted
BARS = {
    "Flower cold / fleet of 1,000": ">= 5",
    "Flower warm / fleet of 1,000": "> 1",
    "fleet of 1,000 / bare script": "<= 4",
    "sliced / SIR on HAR": ">= 2",
    "degrees between the subspaces of SIR and sliced": "<= 0.02",
    "River's StandardScaler / learn_one": "> 1",
}
Said = dict[str, Any]
Work = tuple[str, str, tuple[object, ...]]


def run() -> dict[str, float]:
    """All ratios that can be had here; bars of the others are taken away."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="fsir-peers-") as folder:
        for part in (_fleets, lambda: _directions(Path(folder)), _learning):
            figures |= part()
    for figure in set(BARS) - set(figures):
        print(f"SKIPPED: {figure}", file=sys.stderr)
        del BARS[figure]
    return figures


def _in_turns(*works: Work) -> dict[str, list[Said]]:
    """What each of them says, in turns; those that cannot be had are left out, loudly."""
    told: dict[str, list[Said]] = {}
    missing: set[str] = set()
    for _ in range(ROUNDS):
        for peer, work, arguments in works:
            if work in missing:
                continue
            try:
                told.setdefault(work, []).append(said(peer, work, *arguments))
            except MissingPeerError as error:
                missing.add(work)
                print(f"SKIPPED: {error}", file=sys.stderr)
    return {work: some for work, some in told.items() if work not in missing}


def _median(told: list[Said], what: str = "seconds") -> float:
    return statistics.median(one[what] for one in told)


def _fleets() -> dict[str, float]:
    told = _in_turns(
        ("ours", "ours_fleet", (DEVICES, "mosquitto")),
        ("flower", "flower", (DEVICES,)),
        ("ours", "bare", (DEVICES,)),
    )
    ours = _median(told["ours_fleet"])
    figures = {"seconds of a fleet of 1,000": ours}
    if "flower" in told:
        figures["Flower cold / fleet of 1,000"] = _median(told["flower"], "cold") / ours
        figures["Flower warm / fleet of 1,000"] = _median(told["flower"], "warm") / ours
    figures["fleet of 1,000 / bare script"] = ours / _median(told["bare"])
    return figures


def _directions(folder: Path) -> dict[str, float]:
    data = Path(os.environ.get("FSIR_DATA", "../shared/data")) / "uci_har"
    if not data.exists():
        print(f"SKIPPED: HAR, which is not at {data}; set FSIR_DATA", file=sys.stderr)
        return {}
    devices = har(data, False).devices
    X = np.concatenate([device.X for device in devices])
    y = np.concatenate([device.y for device in devices])
    pivots = qr((X - X.mean(axis=0)) / X.std(axis=0), mode="r", pivoting=True)[1]
    X = X[:, np.sort(pivots[:INDEPENDENT_COLUMNS])]
    np.savez(folder / "har.npz", X=X, y=y)
    told = _in_turns(
        ("ours", "ours_sir", (folder,)),
        ("sliced", "sliced_sir", (folder,)),
        ("sklearn", "lda", (folder,)),
    )
    figures = {}
    for work, name in (("sliced_sir", "sliced"), ("lda", "LDA")):
        if work in told:
            figures[f"{name} / SIR on HAR"] = _median(told[work]) / _median(told["ours_sir"])
            angle = _degrees(X, np.load(folder / "ours_sir.npy"), np.load(folder / f"{work}.npy"))
            figures[f"degrees between the subspaces of SIR and {name}"] = angle
    return figures


def _degrees(X: Any, ours: Any, theirs: Any) -> float:
    """The largest angle between what two subspaces make of the records."""
    centred = X - X.mean(axis=0)
    return float(np.degrees(subspace_angles(centred @ ours, centred @ theirs)).max())


def _learning() -> dict[str, float]:
    return {
        **_ratio("River's StandardScaler / learn_one", ("river", "river_one"), "ours_one"),
        **_ratio(
            "IncrementalPCA / learn_many, p = 561", ("sklearn", "incremental_pca"), "ours_batches"
        ),
    }


def _ratio(name: str, peer: tuple[str, str], ours: str) -> dict[str, float]:
    told = _in_turns((*peer, ()), ("ours", ours, ()))
    if peer[1] not in told:
        return {}
    return {name: _median(told[peer[1]]) / _median(told[ours])}
