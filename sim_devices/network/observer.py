"""Who tells when a simulated federation is over: a reader of the subspace, as any device may be."""

from __future__ import annotations

import time

from fsir.errors import FsirError
from fsir.net.broker import Broker
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace, topic
from sim_devices.network.connections import Inbox, connection_of
from sim_devices.network.fleet.crew import Crew

ASK_AGAIN_SECONDS = 5.0  # the message may have been lost on the way


class FederationError(FsirError):
    """A federation that did not come to its end, with what is known about why."""


class Observer:
    """Reads the subspace, and tells when it counts everybody."""

    def __init__(self, url: str, task: Task, crew: Crew) -> None:
        self.subspace: Subspace | None = None
        self._crew = crew
        # What two aggregators have not opened is less than a cohort of each group.
        secure = task.secure
        self._most_left = 0 if secure is None else secure.groups * (secure.cohort - 1)
        self._topics = [topic(task.name, "subspace")]
        self._inbox = Inbox()
        self._connection = connection_of(
            Broker.parse(url), "sim-observer", self._topics, self._inbox
        )
        now = time.monotonic()
        self._ask_at = now + ASK_AGAIN_SECONDS
        self._connection.step(now)
        if self._connection.fileno() is None:
            raise FederationError(
                f"no broker answers at {url}; start one, or use --broker embedded"
            )

    @property
    def counted(self) -> int:
        """How many devices the latest subspace counts."""
        return 0 if self.subspace is None else self.subspace.devices

    def finished(self) -> bool:
        """Whether every device has its answer, and the subspace counts all that were accepted.

        Of two aggregators, all but those who make no cohort.
        """
        self._read()
        if self._crew.done < self._crew.size:
            return False
        accepted = self._crew.accepted
        if accepted == 0 or self.counted >= max(1, accepted - self._most_left):
            return True
        self._ask_again()
        return False

    def _read(self) -> None:
        self._connection.step(time.monotonic())
        while self._inbox:
            self.subspace = decode(bytes(self._inbox.popleft().payload), Subspace)

    def _ask_again(self) -> None:
        now = time.monotonic()
        if now >= self._ask_at and self._connection.up:
            self._ask_at = now + ASK_AGAIN_SECONDS
            self._connection.subscribe(self._topics)

    def close(self) -> None:
        """Say good-bye."""
        self._connection.close()
