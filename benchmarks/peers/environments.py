"""An environment of its own for each peer, made once and kept in the cache of the user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WORKS = Path(__file__).parent / "works"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
PLACE = Path(os.environ.get("FSIR_PEERS", _CACHE / "fsir-peers"))
PACKAGES = {
    "flower": ["flwr[simulation]==1.41.*"],
    "sklearn": ["scikit-learn"],
    "river": ["river"],
    "sliced": ["sliced==0.7.0", "numpy==1.23.*", "scipy==1.10.*", "scikit-learn==1.1.*", "six"],
}
_QUIET = {
    "OPENBLAS_NUM_THREADS": "1",
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
_LONGEST_SECONDS = 900.0


class MissingPeerError(Exception):
    """An environment that cannot be made here."""


def python_of(peer: str) -> str:
    """The interpreter that has a peer's packages; that of this process for ours."""
    if peer == "ours":
        return sys.executable
    place = PLACE / peer
    python = place / "bin" / "python"
    ready = place / "ready"
    if not ready.exists():
        pip = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES[peer]]
        for command in ([sys.executable, "-m", "venv", str(place)], pip):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise MissingPeerError(f"{peer}: {done.stderr.strip().splitlines()[-1]}")
        ready.touch()
    return str(python)


def said(peer: str, work: str, *arguments: object) -> dict[str, Any]:
    """What a work says of itself in its last line of JSON, in a process of its own."""
    command = [python_of(peer), str(WORKS / f"{work}.py"), *map(str, arguments)]
    path = {"PYTHONPATH": str(ROOT)} if peer == "ours" else {}
    done = subprocess.run(
        command,
        env={**os.environ, **_QUIET, **path},
        capture_output=True,
        text=True,
        timeout=_LONGEST_SECONDS,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise MissingPeerError(f"{work}: {done.stderr.strip()[-300:]}")
    told: dict[str, Any] = json.loads(lines[-1])
    return told
