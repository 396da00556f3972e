"""The real programs, started wrongly, and what a person reads then."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MODULES = {
    "fsir-agent": "edge_agent",
    "fsir-aggregator": "aggregator",
    "fsir-sim": "sim_devices",
}


def ended(
    line: Sequence[object],
    folder: Path,
    *,
    python: Sequence[str] = (sys.executable,),
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own and a folder of its own; it must not break."""
    program, *words = (str(word) for word in line)
    known = {name: value for name, value in os.environ.items() if not name.startswith("FSIR_")}
    home = {"HOME": str(folder), "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*python, "-m", MODULES[program], *words],
        cwd=folder,
        env=known | home | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def mistake(line: Sequence[object], folder: Path, **options: object) -> str:
    """The one line on standard error of a program that ends with status 2."""
    done = ended(line, folder, **options)  # type: ignore[arg-type]
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.startswith(f"{line[0]}: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.rstrip("\n")
