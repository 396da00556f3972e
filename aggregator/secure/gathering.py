"""How long the leader waits for more once a cohort is there.

Every sum that is opened brings the noise of both aggregators. Where devices trickle in, many small
sums bear much of it, and one large sum little: so the leader may wait until nothing has come for a
while. What is waited for is only in memory, and after a restart the time begins anew.
"""

from __future__ import annotations

from aggregator.store.sealed import Pool
from fsir.limits import MOST_IN_COHORT


class Gathering:
    """Whether a pool of reports has come to rest, for `seconds` without another report."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        # By task and pool: how many waited when we last saw another number, and when that was.
        self._seen: dict[tuple[str, Pool], tuple[int, float]] = {}

    def is_over(self, task: str, pool: Pool, waiting: int, now: float) -> bool:
        """Whether to wait no longer for more than the `waiting` reports.

        >>> gathering = Gathering(10.0)
        >>> pool = Pool("final", 1, 0)
        >>> [gathering.is_over("t", pool, n, now) for n, now in ((3, 0), (4, 9), (4, 18), (4, 19))]
        [False, False, False, True]
        """
        if self._seconds <= 0.0 or waiting >= MOST_IN_COHORT:
            return True
        before, since = self._seen.get((task, pool), (0, now))
        if waiting != before or now < since:  # a clock that was set back begins anew
            self._seen[task, pool] = (waiting, now)
            return False
        return now >= since + self._seconds
