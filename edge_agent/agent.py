"""The agent: one device in one task, as a state machine without sockets, threads or sleep.

    state = State(directory, device)              # State(None, device, simulated=True): in memory
    agent = Agent(state, "task-name", Policy(), feed=Feed("csv:/path"))
    agent.subscriptions()                         # topics to read, in this order; more
                                                  # once a task with two aggregators is known
    agent.connected(now)                          # once the broker has confirmed them
    agent.disconnected()                          # later
    agent.receive(topic, payload)                 # whatever arrives; never raises
    agent.learn(record), agent.learn_many(X, y)   # records, while agent.wants_records
    for message in agent.outgoing(now): publish   # makes reports, repeats their bytes
    agent.next_due(now)                           # when to call `outgoing` again
    agent.checkpoint()                            # every few seconds, and before leaving
    agent.held, agent.release()                   # why a report waits for its owner; let it go
    agent.serve(record)                           # a projected record, once a subspace is there

`now` is any clock that never goes back, the same in all calls; `clock` tells the time of day
(deadlines, ledger). `checkpoint` may raise `StorageError`. A simulation passes `simulated=True` to
both state and agent, and may then pass its own `noise` and `rng`.

Phases: waiting for the task -> learning (-> held) -> (waiting for the active set -> learning ->)
reported -> serving; or stopped. In a task of several rounds learning goes on as soon as a report is
made; when the next one has its records it waits for the receipt, or for its time.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable

from edge_agent.consent.admission import Feed
from edge_agent.consent.policy import Policy
from edge_agent.errors import StorageError
from edge_agent.exchange import inbox
from edge_agent.exchange.dispatch import Dispatch
from edge_agent.exchange.gate import QUIET_SECONDS
from edge_agent.exchange.instance import ANOTHER_COPY
from edge_agent.exchange.mailbox import Mailbox
from edge_agent.exchange.outbox import Publish
from edge_agent.exchange.receipts import is_withdrawn, settle, withdrawn
from edge_agent.learning.membership import Membership
from edge_agent.learning.part.participation import Participation
from edge_agent.learning.phase import Phase
from edge_agent.state.made import last_round
from edge_agent.state.rows import OutboxRow, Pin
from edge_agent.state.state import State
from fsir.errors import FsirError
from fsir.net.backoff import Delays
from fsir.privacy.noise import Noise, SystemNoise
from fsir.privacy.plan import FINAL
from fsir.wire.messages import topic

__all__ = ["Agent", "Feed", "Phase", "Publish"]

log = logging.getLogger("fsir.agent")
STORAGE_PAUSE_SECONDS = 10.0  # between attempts while the disk takes nothing
RELEASE_SECONDS = 2.0  # between two looks whether the owner has released what is held


class Agent(Membership):
    """One device in one task."""

    def __init__(
        self,
        state: State,
        name: str,
        policy: Policy | None = None,
        *,
        feed: Feed | None = None,
        noise: Noise | None = None,
        simulated: bool = False,
        clock: Callable[[], float] = time.time,
        delays: Delays | None = None,
        rng: random.Random | None = None,
        digest: bytes | None = None,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        rng = rng or random.SystemRandom()
        super().__init__(
            state,
            name,
            policy=policy or Policy(),
            feed=feed or Feed(),
            noise=noise or SystemNoise(),
            simulated=simulated,
            clock=clock,
            rng=rng,
            digest=digest,
        )
        self._dispatch = Dispatch(quiet_seconds, delays or Delays(), rng)
        self._mailbox = Mailbox(name, state.device)
        self._pause_until = float("-inf")
        self._disk_failed = False
        if (pin := state.pinned(name)) is not None:
            self._refusal = self._refuses(inbox.read_task(pin.raw, name))
            self._join(pin)
            if pin.subspace is not None:
                self.receive(topic(name, "subspace"), pin.subspace)

    @property
    def phase(self) -> Phase:
        """Where the device stands."""
        if self._part is None:
            return Phase.WAITING
        return Phase.of(
            self._part.made,
            done=self._part.done,
            active=self.active is not None,
            full=self._part.full,
            pending=self.pending,
            stopped=self.reason,
            held=self.held,
        )

    @property
    def round(self) -> int:
        """The last round that was made; 0 before the first one."""
        return 0 if self._part is None else last_round(self._part.made)

    @property
    def pending(self) -> int:
        """Reports without a receipt."""
        return len(self._dispatch.outbox)

    # --- messages out -----------------------------------------------------------------------------

    def subscriptions(self) -> list[str]:
        """Topics to read; the receipt first, so that it is known before the task is acted upon."""
        return self._mailbox.topics

    @property
    def asking(self) -> bool:
        """Whether the aggregator has not answered yet on this connection."""
        instance = self._dispatch.instance
        return instance is not None and not instance.confirmed and not self._silent

    @property
    def displaced(self) -> bool:
        """Whether another copy of this device goes on: then the broker should be left to it."""
        return self._part is not None and self._part.stopped.startswith(ANOTHER_COPY)

    @property
    def _silent(self) -> bool:
        """Whether nothing leaves any more, not even an ask: it would move the number of a copy.

        One that was withdrawn asks on each connection whether it was let in again.
        """
        if self._refusal or not self.reason:
            return bool(self._refusal)
        return not self.pending and not is_withdrawn(self.reason)

    def connected(self, now: float) -> None:
        """The subscriptions are in force."""
        self._dispatch.connect(now, self.presence(True))

    def disconnected(self) -> None:
        """Nothing can be sent until `connected`."""
        self._dispatch.gate.disconnect()

    def outgoing(self, now: float) -> list[Publish]:
        """Make the reports that are due, and return what to publish now."""
        if now >= self._pause_until:
            self._catch_up(now)
        return [] if self._silent else self._dispatch.due(now)

    def _catch_up(self, now: float) -> None:
        """Read what waits and make reports, as far as the disk allows it."""
        self._disk_failed = False
        try:
            self._read_again()
            self._report()
            if not self._silent:
                self._dispatch.prepare()
        except StorageError as error:
            self._complain(error)
        if self._disk_failed:
            self._pause_until = now + STORAGE_PAUSE_SECONDS

    def _report(self) -> None:
        if self._part is not None and not self.reason:
            self._part.notice()
        while self._part is not None and self._is_due(self._part):
            if (row := self._part.report()) is not None:
                self._schedule(row)
        while self._part is not None and self._part.adopted:
            self._schedule(self._part.adopted.pop())

    def _is_due(self, part: Participation) -> bool:
        return part.ready and not self.reason and not self._unanswered(part)

    def _unanswered(self, part: Participation) -> bool:
        """Whether a round waits for the receipt of the one before."""
        return FINAL in part.made and bool(self.pending or part.adopted)

    def _schedule(self, row: OutboxRow) -> None:
        self._dispatch.outbox.add(row, max(0.0, row.not_before - self._clock()))

    def next_due(self, now: float) -> float | None:
        """When `outgoing` may have something new, if nothing else happens.

        None: only when something does.
        """
        if self._refusal:
            return None
        times = []
        part = self._part
        ready = part is not None and (len(self._mailbox) or part.adopted or self._is_due(part))
        if ready or (self._dispatch.unprepared and not self._silent):
            times.append(max(now, self._pause_until))
        if self.held:
            times.append(max(now + RELEASE_SECONDS, self._pause_until))
        if not self._silent and (due := self._dispatch.next_due(now)) is not None:
            times.append(due)
        if (awaited := self._awaited_time()) is not None and self._clock() < awaited:
            times.append(now + awaited - self._clock())
        return min(times, default=None)

    def _awaited_time(self) -> float | None:
        if self._part is None or self.reason:
            return None
        return self._part.awaited_time(self._unanswered(self._part))

    # --- messages in ------------------------------------------------------------------------------

    def receive(self, topic: str, payload: bytes) -> None:
        """Take a message from the broker; what is wrong with it is logged, and we live on."""
        kind = self._mailbox.kind_of(topic)
        if kind is None or not payload:
            return  # an empty payload clears a retained message: nothing changes here
        try:
            inbox.check_size(kind, payload)
            if kind == "task":
                self._dispatch.gate.hear_task()
                self._take_task(payload)
            elif self._part is None:
                self._mailbox.keep(topic, payload)
            else:
                self._take(kind, topic, payload, self._part)
        except StorageError as error:
            self._complain(error)
            self._mailbox.keep(topic, payload)
        except FsirError as error:
            log.warning("%s: refused what came on %s: %s", self.name, topic, error)

    def _take(self, kind: str, topic: str, raw: bytes, part: Participation) -> None:
        if kind == "receipt":
            self._take_receipt(raw, part, helpers=self._mailbox.is_helpers(topic))
        elif kind == "active":
            self._take_active(raw, part)
        else:
            self._take_subspace(raw, part)

    def _complain(self, error: StorageError) -> None:
        log.error("%s: %s", self.name, error)
        self._disk_failed = True

    def _read_again(self) -> None:
        for about, payload in self._mailbox.take():
            self.receive(about, payload)

    def _take_task(self, raw: bytes) -> None:
        task = inbox.read_task(raw, self.name)
        if self._part is None and (pin := self.state.pinned(self.name)) is not None:
            self._join(pin)  # the disk has a task that it denied: it is the one
            self._read_again()
        if self._part is not None:
            inbox.check_unchanged(raw, self._part.task)
            return
        self._join(self._accept(task, raw))
        self._read_again()

    def _join(self, pin: Pin) -> Participation:
        # First: without it a disk that fails in between would let reports leave unasked.
        task = inbox.read_task(pin.raw, self.name)
        self._dispatch.join(self.state, task)
        if task.secure is not None:
            self._mailbox.hear_both()
        part = super()._join(pin)
        waiting = self.state.outbox(self.name)
        self._dispatch.resume(waiting, self._clock(), task.report.max_delay)
        self._dispatch.greet(self.presence(True))
        return part

    def _take_active(self, raw: bytes, part: Participation) -> None:
        features = inbox.read_active(raw, part.task)
        if not self.reason and FINAL not in part.made:
            part.take_active(features)

    def _take_receipt(self, raw: bytes, part: Participation, *, helpers: bool) -> None:
        receipt = inbox.read_receipt(raw, self.state.device)
        inbox.check_sender(receipt, part.task, helpers=helpers)
        dispatch = self._dispatch
        reason = settle(self.state, dispatch.outbox, receipt, part.task, dispatch.instance)
        out = withdrawn(part.task, receipt.by)
        if reason and not self.displaced:
            part.stop(reason)
        elif not reason and receipt.task == part.task.digest and part.stopped == out:
            part.go_on()  # the operator has let this device in again
