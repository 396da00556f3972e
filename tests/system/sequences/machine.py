"""A federation to which any operation or fault may happen next; the books balance in the end.

The devices are the product's agents over their state files, the aggregator is the product's over
its store, both with real disks. Between them is a broker that does everything a bad one may do:
messages come late, in another order, twice or never, and what is retained is forgotten. Time is a
number. So a sequence takes milliseconds, and one that fails is cut down to the few steps that
matter; real processes, networks and brokers are in `tests/system/faults`.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import cached_property
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from aggregator.core import Aggregator
from aggregator.publication import Publication
from aggregator.store.opening import open_store
from edge_agent.agent import Phase
from fsir.wire.messages import topic
from tests.system.harness.books import Account, audit
from tests.system.harness.one_hot import Federation
from tests.system.sequences.device import EPOCH_SECONDS, Device

DEVICES = 2
DAY_SECONDS = 86400.0
which = st.integers(0, DEVICES - 1)
some = st.integers(0, 7)


class Sequences(RuleBasedStateMachine):
    """A federation of two devices."""

    @initialize(
        screening=st.sampled_from(["", "same", "fresh"]),
        mechanism=st.sampled_from(["none", "gaussian"]),
    )
    def begin(self, screening: str, mechanism: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fsir-sequence-"))
        stock = 4 if screening == "fresh" else 2
        self.federation = Federation(
            devices=DEVICES, stock=stock, records=2, screening=screening, mechanism=mechanism
        )
        self.now = 0.0
        self.retained: dict[str, bytes] = {}
        self.queue: list[tuple[str, bytes]] = []
        self.old: list[tuple[str, bytes]] = []  # whatever a stranger could have recorded
        self.aggregator = self.open_aggregator()
        self.devices = [Device(number, self.federation, self.folder) for number in range(DEVICES)]
        self.publish(self.aggregator.start(EPOCH_SECONDS + self.now))
        for number in range(DEVICES):
            self.connect(number)
        self.now += 1.0

    # --- the broker -------------------------------------------------------------------------------

    def publish(self, publications: list[Publication]) -> None:
        for about, payload, *_ in publications:
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
        """Killed before it saved: the aggregator publishes again when it is back, devices ask."""
        self.retained = {}
        self.queue = []
        for device in self.devices:
            self.disconnect(device.number)

    @rule(at=some)
    def replay(self, at: int) -> None:
        if self.old:
            self.queue.append(self.old[at % len(self.old)])

    # --- devices ----------------------------------------------------------------------------------

    @rule(number=which, count=st.integers(0, 2), seconds=st.sampled_from([0.0, 2.0, 30.0]))
    def live(self, number: int, count: int, seconds: float = 0.0) -> None:
        """What a device does when nothing is wrong; at times so late that it must repeat itself."""
        self.now += seconds
        self.read(number, len(self.devices[number].inbox))
        self.devices[number].learn(count)
        self.send(number)

    @rule(number=which, count=st.integers(0, 2))
    def live_well(self, number: int, count: int) -> None:
        """Nothing is wrong for a while: a device asks, is answered, learns and sends.

        Without such times hardly a sequence comes as far as a report.
        """
        if not self.devices[number].connected:
            self.connect(number)
        self.live(number, 0, seconds=2.0)
        self.work()
        self.live(number, count, seconds=2.0)

    @rule(number=which)
    def checkpoint(self, number: int) -> None:
        self.devices[number].agent.checkpoint()

    @rule(number=which, saved=st.booleans())
    def crash(self, number: int, saved: bool) -> None:
        """Killed at any time, or right after a checkpoint: then only what that holds counts."""
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
        device.inbox = []
        device.connected = False
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
        self.devices[number].offset += DAY_SECONDS * days

    # --- the aggregator ---------------------------------------------------------------------------

    @cached_property
    def address(self) -> str:
        """Of the store, a new one for each sequence."""
        return f"sqlite:{self.folder / 'store.db'}"

    def open_aggregator(self) -> Aggregator:
        return Aggregator(open_store(self.address), [self.federation.task()])

    @rule()
    def start_aggregator(self) -> None:
        """What it took and did not commit is gone with the old process."""
        self.aggregator.store.close()
        self.aggregator = self.open_aggregator()
        self.publish(self.aggregator.start(EPOCH_SECONDS + self.now))

    @rule()
    def work(self) -> None:
        """What the aggregator does when nothing is wrong."""
        while self.queue:
            self.take(0, again=False)
        self.commit()
        self.publish(self.aggregator.receipts())

    @rule(at=some, again=st.booleans())
    def take(self, at: int, again: bool) -> None:
        """A report arrives, not always the oldest one, and maybe once more later."""
        if self.queue:
            about, payload = self.queue[at % len(self.queue)]
            self.aggregator.take(about, payload)
            if not again:
                self.queue.remove((about, payload))

    @rule()
    def commit(self) -> None:
        self.publish(self.aggregator.commit(EPOCH_SECONDS + self.now))

    @precondition(lambda self: self.aggregator.waiting)
    @rule()
    def commit_and_die(self) -> None:
        """Committed, and killed before anybody was told."""
        self.aggregator.commit(EPOCH_SECONDS + self.now)
        self.start_aggregator()

    # --- the end ----------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        try:
            self.come_to_rest()
            accounts = [
                Account(number=d.number, name=d.name, state=d.folder, sent=d.sent)
                for d in self.devices
            ]
            assert audit(self.federation, self.address, accounts) == []
        finally:
            shutil.rmtree(self.folder)

    def come_to_rest(self) -> None:
        """Everything works from now on; then all come to rest, and leave."""
        self.start_aggregator()
        for number in range(DEVICES):
            self.connect(number)
        for _ in range(60):
            for device in self.devices:
                self.live(device.number, self.federation.stock)
            self.work()
            self.now += 5.0
        self.aggregator.store.close()
        for device in self.devices:
            state = f"{device.name} is {device.agent.phase}: {device.agent.reason}"
            assert device.agent.phase is Phase.SERVING, state
            assert topic("one-hot", "receipt", device.name) in self.retained
            device.state.close()
