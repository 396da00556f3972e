"""The golden federation, played from a seed: what goes over the wire, and what stays on disks.

Five devices take part in tasks of every kind. The state directory of the first one is kept at four
moments of its life, and the store of the aggregator at the end. Nothing here depends on the time,
the machine or the network. Subspaces come from linear algebra, whose last bits differ between
machines: devices are given the golden ones, so that what they do with them is the same everywhere.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from aggregator.core import Aggregator
from aggregator.publication import Publication
from aggregator.store.sqlite import SqliteStore
from edge_agent.labels.file import append
from edge_agent.labels.timeline import Event
from edge_agent.recognition.tasks import Recognition
from fsir.task.task import Task
from fsir.wire.messages import topic
from tests.golden.federation.device import Clock, Device, memory, on_disk, silence
from tests.golden.federation.readings import DEVICES
from tests.golden.federation.tasks import (
    CLOCK,
    CODED,
    DEADLINE,
    GREEDY,
    LONG,
    PLAIN,
    SERVED,
    SHORT,
    TRIMMED,
)
from tests.golden.federation.trouble import troubles
from tests.golden.files import LABELS, STATE_FILE, STORE_FILE, Message, of_kind

HALF = 20  # records
FIRST = 46  # records after which every task has its first report
FRESH = 66  # in the middle of the second stage of the task with fresh records
SECOND = 90  # after its end


class Play:
    """One performance into an empty folder; `given` are subspaces by topic, in their order."""

    def __init__(self, folder: Path, given: Mapping[str, Sequence[bytes]] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._given = {about: list(bodies) for about, bodies in (given or {}).items()}
        self._clock = Clock()
        self._wire: list[Message] = []
        self.retained: set[tuple[str, bool]] = set()  # of devices: kind, and whether it is retained
        self.qos: set[tuple[str, int]] = set()  # of the aggregator: kind, and quality of service
        self._store = SqliteStore(folder / STORE_FILE)
        self._aggregator = Aggregator(self._store, SERVED, debounce=0.0)
        self._announced = self._published(self._aggregator.start(self._clock()))

    def run(self) -> list[Message]:
        """Play all acts; what was on the wire, each message once."""
        with silence():
            devices = self._learn_and_report()
            for task in SHORT:
                self._play(task)
            self._answered(troubles(self._wire))
            self._withdraw(devices[-1])
            self._restore(devices[0])
            self._recognise(devices[0])
        self._close(devices)
        self._store.close()
        return list(dict.fromkeys(self._wire))

    # --- the life of the first device, and its companions -----------------------------------------

    def _learn_and_report(self) -> list[Device]:
        devices = self._gathered()
        self._learn(devices, HALF)
        self._keep("learning")
        self._learn(devices, FIRST)
        answers = self._reported(devices)
        self._hear(devices, of_kind(answers, "receipt"))
        self._keep("screened")
        self._hear(devices, [*of_kind(answers, "active"), *self._estimated()])
        self._learn(devices, FRESH)
        said = self._said(devices)
        self._keep("reported")
        self._hear(devices, self._answered(said))
        self._learn(devices, SECOND)
        self._hear(devices, self._reported(devices))
        self._hear(devices, self._estimated())
        return devices

    def _gathered(self) -> list[Device]:
        """The first device with a disk, three in memory, and one that takes part in one task."""
        wanted = [task.name for task in (*LONG, GREEDY)]
        first = on_disk(self._folder / "life", DEVICES[0], wanted, self._clock)
        others = [memory(name, LONG, self._clock) for name in DEVICES[1:4]]
        devices = [first, *others, memory(DEVICES[4], [PLAIN], self._clock)]
        greedy = Message(topic(GREEDY.name, "task"), GREEDY.encode())
        self._hear(devices, [*self._announced, greedy])
        return devices

    def _keep(self, moment: str) -> None:
        """A copy of the state directory as it is now."""
        to = self._folder / "states" / moment
        to.mkdir(parents=True)
        for name in (STATE_FILE, LABELS):
            if (self._folder / "life" / name).exists():
                shutil.copyfile(self._folder / "life" / name, to / name)

    def _withdraw(self, device: Device) -> None:
        """The last device leaves the federation, and is refused when it tries again."""
        self._aggregator.withdraw(device.name, self._clock())
        reports = of_kind(self._wire, "report")
        self._answered([found for found in reports if _sender(found) == device.name])

    def _restore(self, device: Device) -> None:
        """A task of which the aggregator has a report that this state did not make: it stops."""
        device.join(TRIMMED.name)
        mine = topic(TRIMMED.name, "receipt", device.name)
        receipts = [message for message in self._wire if message.topic == mine]
        device.hear([*self._announced, *receipts])

    def _recognise(self, device: Device) -> None:
        """The newest subspace, recognition with it, labels from the button, and the last words."""
        device.hear(self._estimated())
        recognition = Recognition(device.state, device.agents, self._clock)
        for record in device.rest():
            for agent in device.agents:
                recognition.serve(agent, record)
            recognition.learn(record)
        recognition.checkpoint(leaving=True)
        for agent in device.agents:
            agent.checkpoint(leaving=True)
        life = self._folder / "life"
        append(life, Event(CLOCK + 0.5, "walk", CLOCK + 60.0))
        append(life, Event(CLOCK + 30.25, "", CLOCK + 1830.25))
        self._keep("serving")
        gone = [agent.presence(False) for agent in device.agents]
        self._wire += [Message(last.topic, last.payload) for last in gone if last is not None]

    # --- a task that is told quickly --------------------------------------------------------------

    def _play(self, task: Task) -> None:
        """Devices with a state for this task alone: nothing proven may follow what is not."""
        devices = [memory(name, [task], self._clock) for name in DEVICES[:4]]
        self._hear(devices, self._announced)
        self._learn(devices, FIRST)
        if task is DEADLINE:
            self._clock.now = float(CLOCK + 86400)
        self._hear(devices, self._reported(devices))
        if task is CODED:
            self._clock.now += 60.0
            self._hear(devices, self._published(self._aggregator.tick(self._clock())))
            self._learn(devices, SECOND)
            self._hear(devices, self._reported(devices))
        self._hear(devices, self._estimated())
        self._close(devices)

    # --- who does what ----------------------------------------------------------------------------

    def _learn(self, devices: Sequence[Device], stop: int) -> None:
        for device in devices:
            device.learn(device.rest(stop))

    def _hear(self, devices: Sequence[Device], messages: Sequence[Message]) -> None:
        for device in devices:
            device.hear(messages)

    def _close(self, devices: Sequence[Device]) -> None:
        for device in devices:
            self.retained |= device.manners
            device.state.close()

    def _said(self, devices: Sequence[Device]) -> list[Message]:
        said = [message for device in devices for message in device.say()]
        self._wire += said
        return said

    def _reported(self, devices: Sequence[Device]) -> list[Message]:
        return self._answered(self._said(devices))

    def _answered(self, messages: Iterable[Message]) -> list[Message]:
        """What the aggregator says to these messages, one second later."""
        self._clock.now += 1.0
        for message in messages:
            if message.kind == "report":
                self._aggregator.take(message.topic, message.payload)
        return self._published(self._aggregator.commit(self._clock()))

    def _estimated(self) -> list[Message]:
        self._clock.now += 1.0
        return self._published(self._aggregator.estimate(self._clock()))

    def _published(self, publications: Iterable[Publication]) -> list[Message]:
        found = {Message(each.topic, each.payload): each.qos for each in publications}
        self.qos |= {(message.kind, qos) for message, qos in found.items()}
        self._wire += found
        return [self._golden(message) for message in found]

    def _golden(self, message: Message) -> Message:
        """What devices are told: of subspaces the golden bytes, where there are any."""
        known = self._given.get(message.topic)
        return Message(message.topic, known.pop(0)) if known else message


def _sender(message: Message) -> str:
    return message.topic.rpartition("/")[2]
