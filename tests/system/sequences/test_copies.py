"""Two copies of a device in any order: one report leaves them, whatever is asked, lost or late."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.core import Aggregator
from aggregator.publication import Publication
from aggregator.store.sqlite import SqliteStore
from fsir.wire.messages import topic
from tests.system.harness.one_hot import Federation
from tests.system.sequences.device import EPOCH_SECONDS, Device

FEDERATION = Federation(devices=1, stock=2, records=2, mechanism="gaussian")
ASK = topic(FEDERATION.name, "ask", FEDERATION.names()[0])

moves = st.tuples(
    st.sampled_from(["connect", "live", "live", "work", "work", "lose ask", "lose answer", "wait"]),
    st.integers(0, 1),
)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


class Pair:
    """A device, its copy, a broker that knows them by one name, and the aggregator."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.retained: dict[str, bytes] = {}
        self.queue: list[tuple[str, bytes]] = []
        self.aggregator = Aggregator(SqliteStore(folder / "store.db"), [FEDERATION.task()])
        self.devices: list[Device] = []
        self.publish(self.aggregator.start(EPOCH_SECONDS))
        self.devices.append(Device(0, FEDERATION, folder / "original"))
        for _ in range(3):  # the task, the ask, and one record
            self.connect(0)
            self.live(0)
            self.work()
        original = self.devices[0]
        original.learn(1)
        original.agent.checkpoint()
        shutil.copytree(folder / "original", folder / "copy")
        self.devices.append(Device(0, FEDERATION, folder / "copy"))

    def publish(self, publications: list[Publication]) -> None:
        for about, payload, *_ in publications:
            self.retained[about] = payload
            for device in self.devices:
                if device.connected:
                    device.inbox.append((about, payload))

    def connect(self, who: int) -> None:
        """A name that comes a second time pushes the first one out."""
        for device in self.devices:
            device.connected = False
            device.inbox = []
            device.agent.disconnected()
        device = self.devices[who]
        topics = device.agent.subscriptions()
        device.inbox = [(about, self.retained[about]) for about in topics if about in self.retained]
        device.connected = True
        device.agent.connected(self.now)

    def live(self, who: int) -> None:
        """Read, learn, send."""
        device = self.devices[who]
        while device.inbox:
            device.agent.receive(*device.inbox.pop(0))
        device.learn(len(self.devices) - 1)  # none before there is a copy
        if device.connected:
            self.queue += device.outgoing(self.now)

    def work(self) -> None:
        """The aggregator takes what has come, in its order."""
        for message in self.queue:
            self.aggregator.take(*message)
        self.queue = []
        self.publish(self.aggregator.commit(EPOCH_SECONDS + self.now))

    def move(self, name: str, who: int) -> None:
        if name == "connect":
            self.connect(who)
        elif name == "live":
            self.live(who)
        elif name == "work":
            self.work()
        elif name == "lose ask":
            self.queue = [message for message in self.queue if message[0] != ASK]
        elif name == "lose answer":
            self.devices[who].inbox = []
        else:
            self.now += 10.0

    def come_to_rest(self) -> None:
        """Both come again and again, until one has gone on and the other has stopped."""
        for who in (0, 1, 0, 1):
            self.connect(who)
            for _ in range(4):
                self.live(who)
                self.work()
                self.now += 10.0

    @property
    def sent(self) -> set[bytes]:
        return {raw for device in self.devices for raws in device.sent.values() for raw in raws}

    @property
    def confirmed(self) -> list[bool]:
        gates = [device.agent._dispatch.instance for device in self.devices]
        return [gate is not None and gate.confirmed for gate in gates]

    def close(self) -> None:
        self.aggregator.store.close()
        for device in self.devices:
            device.state.close()


@pytest.mark.parametrize(
    "examples",
    [
        pytest.param(10, id="some"),
        pytest.param(500, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_one_report_leaves_two_copies(examples: int) -> None:
    @settings(deadline=None, max_examples=examples)
    @given(order=st.lists(moves, max_size=40))
    def check(order: list[tuple[str, int]]) -> None:
        with TemporaryDirectory() as folder:
            pair = Pair(Path(folder))
            try:
                for move in order:
                    pair.move(*move)
                    assert len(pair.sent) <= 1
                pair.come_to_rest()
                assert len(pair.sent) == 1
                assert sum(pair.confirmed) <= 1
                assert any(device.agent.displaced for device in pair.devices)
                assert len(list(pair.aggregator.store.reports(1))) == 1
            finally:
                pair.close()

    check()


def test_copies_that_are_not_told_apart_send_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the numbers are for: without them both reports leave before either is counted."""
    with TemporaryDirectory() as folder:
        pair = Pair(Path(folder))
        try:
            for device in pair.devices:
                gate = device.agent._dispatch.instance
                monkeypatch.setattr(gate, "hear", lambda _number, gate=gate: _open(gate))
            for who in (0, 1, 0, 1):
                pair.connect(who)
                pair.live(who)
                pair.live(who)
                pair.publish([])
            assert len(pair.sent) == 2
        finally:
            pair.close()


def _open(gate: object) -> bool:
    gate._held = True  # type: ignore[attr-defined]
    return True
