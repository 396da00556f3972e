"""What is opened together, and when: decisions from numbers alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from aggregator.store.sealed import Pool
from fsir.privacy.plan import SCREENING
from fsir.task.task import Task


def ripe(
    task: Task, waiting: Mapping[Pool, int], *, screened: int, late: bool, chosen: bool
) -> list[Pool]:
    """Where the leader proposes to open a sum: wherever at least a cohort waits.

    Each cohort brings noise of its own. So screening waits until its quorum is there with those
    `screened` before, or it is `late`; and where the active set is `chosen`, nothing more of it is
    opened, because nobody would use it.
    """
    full = [pool for pool, count in waiting.items() if lacking(task, count) == 0]
    rule = task.screening
    if rule is None:
        return full
    there = screened + sum(n for pool, n in waiting.items() if pool.stage == SCREENING)
    screens = not chosen and (late or there >= rule.quorum)
    return [pool for pool in full if screens or pool.stage != SCREENING]


def lacking(task: Task, waiting: int) -> int:
    """How many more reports a cohort needs."""
    cohort = task.secure.cohort if task.secure is not None else 0
    return max(0, cohort - waiting)


def common(proposed: Sequence[bytes], held: Collection[bytes]) -> tuple[bytes, ...]:
    """Those of the proposed reports that wait here, in the same order.

    What was opened before waits no more, so that none is opened twice.

    >>> common([b"a", b"b", b"c"], {b"c", b"a", b"d"})
    (b'a', b'c')
    """
    return tuple(id for id in proposed if id in held)
