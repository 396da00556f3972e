"""Whether a device takes part in a task, what it learns for it, and what it gets back."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from edge_agent.consent.admission import Feed, refusals
from edge_agent.consent.policy import Policy
from edge_agent.errors import StateError
from edge_agent.exchange import inbox
from edge_agent.exchange.outbox import Publish
from edge_agent.learning.holding import Holding
from edge_agent.learning.part.participation import Participation
from edge_agent.learning.spending import Spender
from edge_agent.records import START, Position, Record
from edge_agent.state.rows import Pin
from edge_agent.state.state import State
from edge_agent.watch.refusals import Refusal
from fsir.errors import MessageError
from fsir.limits import DEVICE_NAME
from fsir.privacy.noise import Noise
from fsir.task.task import Task
from fsir.wire.messages import Presence, encode, topic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edge_agent.learning.projection import Projection

log = logging.getLogger("fsir.agent")


class Membership:
    """One device and one task, before the task is known and afterwards; messages are elsewhere."""

    def __init__(
        self,
        state: State,
        name: str,
        *,
        policy: Policy,
        feed: Feed,
        noise: Noise,
        simulated: bool,
        clock: Callable[[], float],
        rng: random.Random,
        digest: bytes | None = None,
    ) -> None:
        _check(state, name, noise, simulated)
        self.state = state
        self.name = name
        self.policy = policy
        self.feed = feed
        self._noise = noise
        self._clock = clock
        self._rng = rng
        self._digest = digest  # of the task that the owner has read; None: any that is published
        self._part: Participation | None = None
        self._refusal = ""
        self.projection: Projection | None = None  # with the latest subspace
        self._latest = b""

    # --- the task ---------------------------------------------------------------------------------

    def _refuses(self, task: Task) -> str:
        if self._digest not in (None, task.digest):
            return (
                f"another task is published as {self.name!r} than the one that the owner has "
                f"read: digest {task.digest.hex()[:16]}, the file of --task has "
                f"{(self._digest or b'').hex()[:16]}; read it, and if you agree, "
                "take part with its file"
            )
        return "; ".join(refusals(self.state, task, self.policy, self.feed))

    def _accept(self, task: Task, raw: bytes) -> Pin:
        """Pin a task that was published, if the owner's policy allows it."""
        self._refusal = self._refuses(task)
        if self._refusal:
            self.state.note(self.name, self._refusal)
            raise MessageError(self._refusal)
        pin = self.state.pin(self.name, raw, self.feed.name)
        log.info("%s: accepted, digest %s", self.name, task.digest.hex()[:16])
        return pin

    def _join(self, pin: Pin) -> Participation:
        task = inbox.read_task(pin.raw, self.name)
        spender = Spender(
            task,
            self.state.device,
            feed=self.feed,
            policy=self.policy,
            noise=self._noise,
            rng=self._rng,
        )
        holding = Holding(self.state, task, self.policy, self.feed, self._noise)
        self._part = Participation(self.state, pin, task, spender, holding, self._clock)
        return self._part

    @property
    def task(self) -> Task | None:
        """The task that this device has accepted."""
        return None if self._part is None else self._part.task

    @property
    def active(self) -> tuple[str, ...] | None:
        """The active set that this device has accepted."""
        return None if self._part is None else self._part.active

    @property
    def reason(self) -> str:
        """Why the task is refused, or the device takes no further part; empty if all is well."""
        return self._refusal or ("" if self._part is None else self._part.stopped)

    @property
    def held(self) -> str:
        """Why the report that is due waits for the owner; empty if it does not."""
        return "" if self._part is None or self.reason else self._part.holding.why

    @property
    def late(self) -> str:
        """Why there can be no report any more, although nobody has refused the task."""
        return "" if self._part is None or self.reason else self._part.late

    def release(self) -> None:
        """Send the report that is held: its owner has looked."""
        if self._part is not None and self.held:
            self._part.holding.release()

    def presence(self, online: bool) -> Publish | None:
        """The presence message, if both owner and task want one.

        The offline one is also the last will.
        """
        task = self.task
        if task is None or self.reason or not (self.policy.presence and task.report.presence):
            return None
        device = self.state.device
        about = topic(self.name, "presence", device)
        return Publish(about, encode(Presence(device, online)), retain=True)

    # --- records ----------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Records that the report that comes next would be about."""
        return 0 if self._part is None else self._part.draft.n

    @property
    def learned(self) -> int:
        """Those of them that were learned, and are not null."""
        nulls = self.task is not None and self.task.counts_refused
        return self.n - (sum(self.refused.values()) if nulls else 0)

    @property
    def refused(self) -> Mapping[str, int]:
        """Records that were not accepted, by reason; only this device knows."""
        return {} if self._part is None else self._part.draft.refused

    def why_refused(self) -> Refusal | None:
        """Why the last record that was refused was, and what to do about it."""
        return None if self._part is None else self._part.why_refused()

    @property
    def position(self) -> Position:
        """The last record that this task has seen."""
        return START if self._part is None else self._part.position

    @property
    def wants_records(self) -> bool:
        """Whether the next record would be learned."""
        return self._part is not None and not self._refusal and self._part.wants_records

    @property
    def between_rounds(self) -> bool:
        """Whether the next record would be learned, if only the round before it were made."""
        return self._part is not None and not self.reason and self._part.between_rounds

    def learn(self, record: Record) -> bool:
        """Offer one record; true if it was looked at (and maybe refused, see `refused`)."""
        return self._part is not None and not self._refusal and self._part.learn(record)

    def learn_sound(self, records: Sequence[Record]) -> bool:
        """Offer records together, if all are wanted and plainly sound; false: none was looked at.

        The same as `learn` on each.
        """
        return self._part is not None and not self._refusal and self._part.learn_sound(records)

    @property
    def room(self) -> int:
        """So many records may be offered before it wants no more; 0 if it wants none now."""
        return self._part.room if self._part is not None and self.wants_records else 0

    def learn_many(
        self, X: ArrayLike, y: Sequence[Any] | NDArray[Any], first: int | None = None
    ) -> int:
        """Offer rows over all features of the task, numbered from `first` on.

        Returns how many were used up.
        """
        if self._part is None or self._refusal:
            return 0
        return self._part.learn_many(np.asarray(X, dtype=np.float64), y, first)

    def checkpoint(self, leaving: bool = False) -> None:
        """Commit what was learned together with the position.

        `StorageError` if the disk takes nothing.
        """
        if self._part is not None:
            self._part.checkpoint(leaving)

    # --- what it gets back ------------------------------------------------------------------------

    @property
    def serving(self) -> bool:
        """Whether there is a subspace to serve with."""
        return self.projection is not None

    def serve(self, record: Record) -> dict[str, Any] | None:
        """The record on the directions of the latest subspace, and its class if that is known."""
        served = None if self.projection is None else self.projection.serve(record.x)
        return None if served is None else {"record": record.position.ordinal, **served}

    def _take_subspace(self, raw: bytes, part: Participation) -> None:
        if raw == self._latest:
            return  # retained: it comes with every connection
        projection = _projection(raw, part.task, part.active)
        self.state.keep_subspace(self.name, raw)
        self.projection = projection
        self._latest = raw


@lru_cache(maxsize=2)  # a thousand simulated devices get the same subspace
def _projection(raw: bytes, task: Task, active: tuple[str, ...] | None) -> Projection:
    from edge_agent.learning.projection import Projection

    return Projection(task, inbox.read_subspace(raw, task, active))


def _check(state: State, name: str, noise: Noise, simulated: bool) -> None:
    if not noise.cryptographic and not simulated:
        raise StateError(
            f"{type(noise).__name__} protects nobody: only a simulated agent may use it"
        )
    if state.simulated != simulated:
        raise StateError("a simulated agent and a real one cannot share a state: give each its own")
    for what, value in (("device", state.device), ("task", name)):
        if not DEVICE_NAME.match(value):
            raise StateError(f"{what} {value!r}: use 1 to 64 letters, digits, '.', '_' or '-'")
