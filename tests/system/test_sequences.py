"""Any sequence of operations and faults, thought up and shortened by Hypothesis: the books balance afterwards.

The devices are the product's agents over their state files, the aggregator is the product's over its store, both with
real disks. Between them is a broker that does everything a bad one may do: messages come late, in another order, twice
or never, and what is retained is forgotten. Time is a number. So a sequence takes milliseconds, and one that fails is
cut down to the few steps that matter; real processes, networks and brokers are in test_faults.py.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as Step
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from aggregator.core import Aggregator
from aggregator.mqtt.publication import Publication
from aggregator.store.sqlite import SqliteStore
from edge_agent.agent import Agent, Phase
from edge_agent.consent.admission import Feed
from edge_agent.state.state import State
from fsir.net.backoff import Delays
from fsir.wire.decode import decode
from fsir.wire.messages import Report, topic
from tests.system.books import Account, audit
from tests.system.one_hot import POLICY, Federation
from tests.system.safeguards import Patch, fresh_noise, no_dedupe, position_not_committed

DEVICES = 2
EPOCH = 1.7e9  # seconds: what the clocks say at the start
which = st.integers(0, DEVICES - 1)
some = st.integers(0, 7)


class Device:
    """An agent that can die at any moment; what it has sent is remembered here, all else is on its disk."""

    def __init__(self, number: int, federation: Federation, folder: Path) -> None:
        self.number, self.name, self._federation = number, federation.names()[number], federation
        self.folder, self.offset = folder / self.name, 0.0
        self.sent: dict[str, set[bytes]] = {}
        self.inbox: list[tuple[str, bytes]] = []
        self.now, self.connected = 0.0, False
        self.boot()

    def boot(self) -> None:
        self.state = State(self.folder, self.name)
        self.agent = Agent(
            self.state, "one-hot", POLICY, feed=Feed("sensor", True), delays=Delays(1.0, 8.0),
            clock=lambda: EPOCH + self.now + self.offset, quiet_seconds=0.0,
        )  # fmt: skip
        self.inbox, self.connected = [], False

    def crash(self) -> None:
        """No good-bye, no last checkpoint: an open transaction is not committed, and the lock is let go."""
        files = self.state._db
        lock, files._lock = files._lock, None
        files._db.close()
        if lock is not None:
            os.close(lock)
        self.boot()

    def learn(self, count: int) -> None:
        for _ in range(count):
            ordinal = self.agent.position.ordinal + 1
            if self.agent.wants_records and ordinal < self._federation.stock:
                self.agent.learn(self._federation.record(self.number, ordinal))

    def outgoing(self, now: float) -> list[tuple[str, bytes]]:
        self.now = now
        messages = [(message.topic, message.payload) for message in self.agent.outgoing(now)]
        for _, payload in messages:
            report = decode(payload, Report)
            assert isinstance(report, Report)
            self.sent.setdefault(report.stage, set()).add(payload)
        return messages


class Sequences(RuleBasedStateMachine):
    """A federation of two devices."""

    @initialize(
        screening=st.sampled_from(["", "same", "fresh"]),
        mechanism=st.sampled_from(["none", "gaussian"]),
    )
    def begin(self, screening: str, mechanism: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fsir-sequence-"))
        stock = 4 if screening == "fresh" else 2
        self.federation = Federation(DEVICES, stock, 2, screening, mechanism)
        self.now = 0.0
        self.retained: dict[str, bytes] = {}
        self.queue: list[tuple[str, bytes]] = []
        self.old: list[tuple[str, bytes]] = []  # whatever a stranger could have recorded
        self.aggregator: Aggregator | None = None
        self.devices = [Device(number, self.federation, self.folder) for number in range(DEVICES)]
        self.start_aggregator()
        for number in range(DEVICES):
            self.connect(number)
        self.now += 1.0

    # --- the broker -----------------------------------------------------------------------------------------------

    def publish(self, publications: list[Publication]) -> None:
        for about, payload, _ in publications:
            self.retained[about] = payload
            for device in self.devices:
                if device.connected and about in device.agent.subscriptions():
                    device.inbox.append((about, payload))

    @rule(at=some)
    def lose_a_report(self, at: int) -> None:
        if self.queue:
            self.queue.pop(at % len(self.queue))

    @rule()
    def forget_what_is_retained(self) -> None:
        """Killed before it saved: the aggregator publishes again when it is back, devices ask again."""
        self.retained, self.queue = {}, []
        for device in self.devices:
            self.disconnect(device.number)

    @rule(at=some)
    def replay(self, at: int) -> None:
        if self.old:
            self.queue.append(self.old[at % len(self.old)])

    # --- devices --------------------------------------------------------------------------------------------------

    @rule(number=which, count=st.integers(0, 2), seconds=st.sampled_from([0.0, 2.0, 30.0]))
    def live(self, number: int, count: int, seconds: float = 0.0) -> None:
        """What a device does when nothing is wrong; sooner or later, so that it may find that it must repeat itself."""
        self.now += seconds
        self.read(number, len(self.devices[number].inbox))
        self.devices[number].learn(count)
        self.send(number)

    @rule(number=which)
    def checkpoint(self, number: int) -> None:
        self.devices[number].agent.checkpoint()

    @rule(number=which, saved=st.booleans())
    def crash(self, number: int, saved: bool) -> None:
        """Killed at any time, or right after a checkpoint: then all that counts is what that holds."""
        if saved:
            self.checkpoint(number)
        self.devices[number].crash()

    @rule(number=which)
    def connect(self, number: int) -> None:
        device = self.devices[number]
        device.inbox = [
            (about, self.retained[about])
            for about in device.agent.subscriptions()
            if about in self.retained
        ]
        device.connected = True
        device.agent.connected(self.now)

    @rule(number=which)
    def disconnect(self, number: int) -> None:
        device = self.devices[number]
        device.inbox, device.connected = [], False
        device.agent.disconnected()

    @rule(number=which, count=st.integers(1, 4))
    def read(self, number: int, count: int) -> None:
        device = self.devices[number]
        for _ in range(min(count, len(device.inbox))):
            device.agent.receive(*device.inbox.pop(0))

    def send(self, number: int) -> None:
        device = self.devices[number]
        if device.connected:
            messages = device.outgoing(self.now)
            self.queue += messages
            self.old += messages

    @rule(number=which, days=st.sampled_from([-400.0, -0.01, 0.01, 400.0]))
    def set_clock(self, number: int, days: float) -> None:
        self.devices[number].offset += 86400.0 * days

    # --- the aggregator -------------------------------------------------------------------------------------------

    @rule()
    def start_aggregator(self) -> None:
        """What it took and did not commit is gone with the old process."""
        if self.aggregator is not None:
            self.aggregator.store.close()
        self.aggregator = Aggregator(
            SqliteStore(self.folder / "store.db"), [self.federation.task()]
        )
        self.publish(self.aggregator.start(EPOCH + self.now))

    @rule()
    def work(self) -> None:
        """What the aggregator does when nothing is wrong."""
        while self.queue:
            self.take(0, again=False)
        self.commit()
        assert self.aggregator is not None
        self.publish(self.aggregator.receipts())

    @rule(at=some, again=st.booleans())
    def take(self, at: int, again: bool) -> None:
        """A report arrives, not always the oldest one, and maybe once more later."""
        if self.queue and self.aggregator is not None:
            about, payload = self.queue[at % len(self.queue)]
            self.aggregator.take(about, payload)
            if not again:
                self.queue.remove((about, payload))

    @rule()
    def commit(self) -> None:
        assert self.aggregator is not None
        self.publish(self.aggregator.commit(EPOCH + self.now))

    @precondition(lambda self: self.aggregator is not None and self.aggregator.waiting)
    @rule()
    def commit_and_die(self) -> None:
        """Committed, and killed before anybody was told."""
        assert self.aggregator is not None
        self.aggregator.commit(EPOCH + self.now)
        self.start_aggregator()

    # --- the end --------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        try:
            self.settle()
            accounts = [Account(d.number, d.name, d.folder, d.sent) for d in self.devices]
            assert audit(self.federation, self.folder / "store.db", accounts) == []
        finally:
            shutil.rmtree(self.folder)

    def settle(self) -> None:
        """Everything works from now on; then all come to rest, and leave."""
        self.start_aggregator()
        for number in range(DEVICES):
            self.connect(number)
        for _ in range(60):
            for device in self.devices:
                self.live(device.number, self.federation.stock)
            self.work()
            self.now += 5.0
        assert self.aggregator is not None
        self.aggregator.store.close()
        for device in self.devices:
            assert device.agent.phase is Phase.SERVING, (
                f"{device.name} is {device.agent.phase}: {device.agent.reason}"
            )
            assert topic("one-hot", "receipt", device.name) in self.retained
            device.state.close()


SEQUENCES = settings(deadline=None, suppress_health_check=list(HealthCheck), stateful_step_count=40)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)  # a sequence is repeated many times while it is made shorter


@pytest.mark.parametrize(
    "examples",
    [
        pytest.param(40, id="some"),
        pytest.param(1000, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_the_books_balance_after_any_sequence(examples: int) -> None:
    run_state_machine_as_test(Sequences, settings=settings(SEQUENCES, max_examples=examples))


@pytest.mark.parametrize("broken", [no_dedupe, fresh_noise, position_not_committed])
def test_a_broken_safeguard_is_found(
    broken: Callable[[Patch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch.setattr)
    found = settings(
        SEQUENCES, max_examples=1000, phases=[Step.generate], derandomize=True, database=None
    )
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(Sequences, settings=found)
