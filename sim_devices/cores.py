"""How much of this machine may be used."""

from __future__ import annotations

import os


def cores() -> int:
    """How many processes can work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_thread_each() -> None:
    """Let each process do linear algebra in one thread: there are as many processes as cores.

    To be called before it is loaded.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
