"""The agent: one device in one task, as a state machine without sockets, threads or sleep.

    state = State(directory, device)                 # State(None, device, simulated=True): in memory, for simulations
    agent = Agent(state, "task-name", Policy(), feed=Feed("csv:/path"))
    agent.subscriptions()                            # topics to subscribe to, in this order, at QoS 1
    agent.connected(now)                             # once the broker has confirmed them; agent.disconnected() later
    agent.receive(topic, payload)                    # whatever arrives; never raises
    agent.learn(record), agent.learn_many(X, y)      # records, while agent.wants_records
    for message in agent.outgoing(now): publish      # call by agent.next_due(now); makes reports, repeats their bytes
    agent.checkpoint()                               # every few seconds, and before leaving; may raise StorageError
    agent.serve(record)                              # a projected record, once a subspace is there

`now` is any clock that never goes back, the same in all calls; `clock` tells the time of day (deadlines, ledger). A
simulation passes `simulated=True` to both state and agent, and may then pass its own `noise` and `chance`.
Phases: waiting for the task -> learning -> (waiting for the active set -> learning) -> reported -> serving; or stopped.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edge_agent.consent.admission import Feed, refusals
from edge_agent.consent.policy import Policy
from edge_agent.errors import StateError, StorageError
from edge_agent.exchange import inbox
from edge_agent.exchange.gate import SETTLE, Gate
from edge_agent.exchange.outbox import Outbox, Publish
from edge_agent.exchange.receipts import settle
from edge_agent.learning.participation import Participation
from edge_agent.learning.phase import Phase
from edge_agent.learning.projection import Server
from edge_agent.records import START, Position, Record
from edge_agent.state.state import State
from fsir.errors import FsirError, MessageError
from fsir.limits import DEVICE_NAME, LIMITS
from fsir.net.backoff import Delays
from fsir.privacy.noise import Noise, SystemNoise
from fsir.privacy.plan import FINAL
from fsir.task.task import Task
from fsir.wire.messages import Presence, encode, topic

__all__ = ["Agent", "Feed", "Phase", "Publish"]

log = logging.getLogger("fsir.agent")
STORAGE_PAUSE = 10.0  # seconds between attempts while the disk takes nothing


class Agent:
    """One device in one task."""

    def __init__(
        self, state: State, name: str, policy: Policy | None = None, *, feed: Feed | None = None,
        noise: Noise | None = None, simulated: bool = False, clock: Callable[[], float] = time.time,
        delays: Delays | None = None, chance: random.Random | None = None, settle: float = SETTLE,
    ) -> None:  # fmt: skip
        self._noise = noise or SystemNoise()
        if not self._noise.cryptographic and not simulated:
            raise StateError(
                f"{type(self._noise).__name__} protects nobody: only a simulated agent may use it"
            )
        if state.simulated != simulated:
            raise StateError(
                "a simulated agent and a real one cannot share a state: give each its own"
            )
        for what, value in (("device", state.device), ("task", name)):
            if not DEVICE_NAME.match(value):
                raise StateError(f"{what} {value!r}: use 1 to 64 letters, digits, '.', '_' or '-'")
        self.state, self.name, self.policy, self.feed = (
            state,
            name,
            policy or Policy(),
            feed or Feed(),
        )
        self._clock, self._gate, self._chance = clock, Gate(settle), chance or random.SystemRandom()
        self._outbox = Outbox(delays or Delays(), self._chance)
        kinds = ("receipt", "active", "subspace", "task")
        self._topics = {
            topic(name, kind, state.device if kind == "receipt" else None): kind for kind in kinds
        }
        self._unread: dict[str, bytes] = {}  # messages that wait for the task, or for the disk
        self._pause_until, self._disk_failed = float("-inf"), False
        self._greeting: list[Publish] = []
        self._part: Participation | None = None
        self.server: Server | None = None  # with the latest subspace
        self._latest, self._refusal = b"", ""
        if (pin := state.pinned(name)) is not None:
            task = inbox.read_task(pin.raw, name)
            self._refusal = "; ".join(refusals(state, task, self.policy, self.feed))
            self._join(task)
            if pin.subspace is not None:
                self.receive(topic(name, "subspace"), pin.subspace)

    # --- what the device is doing ---------------------------------------------------------------------------------

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
        """Why the task is refused, or why the device takes no further part; empty if all is well."""
        return self._refusal or ("" if self._part is None else self._part.stopped)

    @property
    def phase(self) -> Phase:
        """Where the device stands."""
        if self._part is None:
            return Phase.WAITING
        return Phase.of(
            self._part.made, self._part.active is not None, len(self._outbox), self.reason
        )

    @property
    def n(self) -> int:
        """Records learned for the report that comes next."""
        return 0 if self._part is None or self._part.learner is None else self._part.learner.n

    @property
    def refused(self) -> Mapping[str, int]:
        """Records that were not accepted, by reason; only this device knows."""
        return {} if self._part is None else self._part.refused

    @property
    def pending(self) -> int:
        """Reports without a receipt."""
        return len(self._outbox)

    @property
    def serving(self) -> bool:
        """Whether there is a subspace to serve with."""
        return self.server is not None

    @property
    def position(self) -> Position:
        """The last record that this task has seen."""
        return START if self._part is None else self._part.position

    @property
    def wants_records(self) -> bool:
        """Whether the next record would be learned."""
        return self._part is not None and not self._refusal and self._part.wants_records

    # --- records --------------------------------------------------------------------------------------------------

    def learn(self, record: Record) -> bool:
        """Offer one record; true if it was looked at (it may still have been refused, see `refused`)."""
        return self._part is not None and not self._refusal and self._part.learn(record)

    def learn_many(
        self, X: ArrayLike, y: Sequence[Any] | NDArray[Any], first: int | None = None
    ) -> int:
        """Offer rows over all features of the task, numbered from `first` on; returns how many were used up."""
        if self._part is None or self._refusal:
            return 0
        return self._part.learn_many(np.asarray(X, dtype=np.float64), y, first)

    def serve(self, record: Record) -> dict[str, Any] | None:
        """The record on the directions of the latest subspace, and its class if that is known; else None."""
        found = None if self.server is None else self.server.serve(record.x)
        return None if found is None else {"record": record.position.ordinal, **found}

    def checkpoint(self, leaving: bool = False) -> None:
        """Commit what was learned together with the position; `StorageError` if the disk takes nothing."""
        if self._part is not None:
            self._part.checkpoint(leaving)

    # --- messages out ---------------------------------------------------------------------------------------------

    def subscriptions(self) -> list[str]:
        """Topics to read; the receipt first, so that it is known before the task is acted upon."""
        return list(self._topics)

    def connected(self, now: float) -> None:
        """The subscriptions are in force."""
        self._gate.connect(now)
        self._outbox.hurry(now)
        self._greeting = self._present()

    def disconnected(self) -> None:
        """Nothing can be sent until `connected`."""
        self._gate.disconnect()

    def presence(self, online: bool) -> Publish | None:
        """The presence message, if both owner and task want one; the offline one is also the last will."""
        task, device = self.task, self.state.device
        if task is None or self.reason or not (self.policy.presence and task.report.presence):
            return None
        return Publish(
            topic(self.name, "presence", device), encode(Presence(device, online)), retain=True
        )

    def _present(self) -> list[Publish]:
        return [message] if (message := self.presence(True)) is not None else []

    def outgoing(self, now: float) -> list[Publish]:
        """Make the reports that are due, and return what to publish now."""
        if now >= self._pause_until:
            self._disk_failed = False
            try:
                self._read_again()
                self._report()
            except StorageError as error:
                self._complain(error)
            if self._disk_failed:
                self._pause_until = now + STORAGE_PAUSE
        if (opens_at := self._gate.opens_at(now)) is None or self._refusal:
            return []
        greeting, self._greeting = self._greeting, []
        return greeting + (self._outbox.due(now) if now >= opens_at else [])

    def next_due(self, now: float) -> float | None:
        """When `outgoing` may have something new, if nothing else happens; None: only when something does."""
        if self._refusal:
            return None
        moments = []
        if self._part is not None and (self._unread or (self._part.ready and not self.reason)):
            moments.append(max(now, self._pause_until))
        if (opens_at := self._gate.opens_at(now)) is not None and (
            due := self._outbox.next_due(now)
        ) is not None:
            moments.append(max(due, opens_at))
        deadline = None if self.task is None else self.task.report.deadline
        if deadline is not None and self.n and self._clock() < deadline:
            moments.append(now + deadline - self._clock())
        return min(moments, default=None)

    def _report(self) -> None:
        while self._part is not None and not self.reason and self._part.ready:
            if (row := self._part.report()) is not None:
                self._outbox.add(row, max(0.0, row.not_before - self._clock()))

    # --- messages in ----------------------------------------------------------------------------------------------

    def receive(self, topic: str, payload: bytes, retained: bool = False) -> None:
        """Take a message from the broker. Whatever is wrong with it is logged, and the agent lives on."""
        kind = self._topics.get(topic)
        if (
            kind is None or not payload
        ):  # an empty payload clears a retained message: nothing changes here
            return
        try:
            if len(payload) > LIMITS[kind]:
                raise MessageError(
                    f"{kind} of {len(payload)} bytes: at most {LIMITS[kind]} are accepted"
                )
            if kind == "task":
                self._gate.hear_task()
                self._take_task(payload)
            elif self._part is None:
                self._unread[topic] = payload
            else:
                take = {
                    "receipt": self._take_receipt,
                    "active": self._take_active,
                    "subspace": self._take_subspace,
                }
                take[kind](payload, self._part.task)
        except StorageError as error:
            self._complain(error)
            self._unread[topic] = payload
        except FsirError as error:
            log.warning("%s: refused what came on %s: %s", self.name, topic, error)

    def _complain(self, error: StorageError) -> None:
        log.error("%s: %s", self.name, error)
        self._disk_failed = True

    def _read_again(self) -> None:
        unread, self._unread = self._unread, {}
        for about in self._topics:
            if about in unread:
                self.receive(about, unread[about])

    def _take_task(self, raw: bytes) -> None:
        task = inbox.read_task(raw, self.name)
        if self._part is None and (pin := self.state.pinned(self.name)) is not None:
            self._join(
                inbox.read_task(pin.raw, self.name)
            )  # the disk has a task that it denied: it is the one
            self._read_again()
        if self._part is not None:
            if raw != self._part.task.encode():
                raise MessageError(
                    f"the task has changed: this device has accepted {self._part.task.digest.hex()[:16]} and stays "
                    "with it; a changed task needs a new name"
                )
            return
        self._refusal = "; ".join(refusals(self.state, task, self.policy, self.feed))
        if self._refusal:
            self.state.note(self.name, self._refusal)
            raise MessageError(self._refusal)
        self.state.pin(self.name, raw, self.feed.name)
        log.info("%s: accepted, digest %s", self.name, task.digest.hex()[:16])
        self._join(task)
        self._read_again()

    def _join(self, task: Task) -> None:
        self._part = Participation(
            self.state, task, self.feed, self.policy, self._noise, self._clock, self._chance
        )
        for row in self.state.outbox(self.name):
            # A clock that was set back must not hold a report for longer than the task says.
            self._outbox.add(
                row, min(max(0.0, row.not_before - self._clock()), task.report.max_delay)
            )
        self._greeting = self._present()

    def _take_active(self, raw: bytes, task: Task) -> None:
        features = inbox.read_active(raw, task)
        if self._part is not None and not self.reason and FINAL not in self._part.made:
            self._part.take_active(features)

    def _take_subspace(self, raw: bytes, task: Task) -> None:
        if raw == self._latest:
            return  # retained: it comes with every connection
        server = Server(task, inbox.read_subspace(raw, task, self.active))
        self.state.keep_subspace(self.name, raw)
        self.server, self._latest = server, raw

    def _take_receipt(self, raw: bytes, task: Task) -> None:
        receipt = inbox.read_receipt(raw, self.state.device)
        if (reason := settle(self.state, self._outbox, receipt, task)) and self._part is not None:
            self._part.stop(reason)
