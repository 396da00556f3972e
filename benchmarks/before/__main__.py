"""How much faster than an earlier commit: the same work by both, in turns, and the medians.

    python -m benchmarks.before COMMIT [NAME ...] [--rounds 5]

The earlier commit is checked out into a temporary folder and runs with this one's environment. Each
work is a process of its own that prints its seconds, so that neither sees the other's modules.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
WORKS = Path(__file__).parent / "works"


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A folder with the files of a commit."""
    with TemporaryDirectory(prefix="before-") as place:
        folder = Path(place) / "source"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def seconds(work: Path, source: Path) -> float:
    """What one process needs for a work with the modules of `source`."""
    made = subprocess.run(
        [sys.executable, str(work)],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(made.stdout.split()[-1])


def main() -> None:
    """Print before over now for each work."""
    names = sorted(work.stem for work in WORKS.glob("*.py"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before", description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--rounds", type=int, default=5, help="turns (default %(default)s)")
    options = parser.parse_args()
    with checked_out(options.commit) as before:
        for name in options.names or names:
            work = WORKS / f"{name}.py"
            turns = [(seconds(work, before), seconds(work, ROOT)) for _ in range(options.rounds)]
            then, now = (statistics.median(times) for times in zip(*turns, strict=True))
            print(f"{name:<16} before / now {then / now:6.2f}   now {now:.6f} s", flush=True)


if __name__ == "__main__":
    main()
