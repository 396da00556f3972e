"""Which of the two aggregators we are, and the keys that prove it."""

from __future__ import annotations

from dataclasses import dataclass, field

from aggregator.federation import Federation
from fsir.errors import TaskError
from fsir.secure.keys import KeyPair
from fsir.secure.report import ShareReader, secure_of
from fsir.task.secure import HELPER, LEADER
from fsir.task.task import Task
from fsir.wire.messages import topic


@dataclass(frozen=True)
class Seat:
    """The role of an aggregator, and its key pair."""

    role: str
    pair: KeyPair
    _readers: dict[tuple[bytes, str], ShareReader] = field(default_factory=dict)

    @property
    def other(self) -> str:
        """The role of the other aggregator."""
        return HELPER if self.role == LEADER else LEADER

    def check(self, task: Task) -> None:
        """Refuse a task in which somebody else has this role."""
        party = secure_of(task).party(self.role)
        if self.pair.party == party:
            return
        if self.pair.party == secure_of(task).party(self.other):
            remedy = f"the key is that of the {self.other}; give --role {self.other}"
        else:
            remedy = f"the key is that of {self.pair.name!r}; give the --role-key of this party"
        raise TaskError(f"secure.{self.role}.name", party.name, remedy)

    def reader(self, federation: Federation, stage: str) -> ShareReader:
        """Opens our shares of a stage, which has a layout by now."""
        place = (federation.digest, stage)
        if place not in self._readers:
            layout = federation.layouts[stage]
            self._readers[place] = ShareReader(federation.task, layout.stage, self.role, self.pair)
        return self._readers[place]


def cohort_topic(task: Task, role: str) -> str:
    """Where the aggregator with this role speaks to the other one.

    A task has one of each, and so access lists need not know their names.
    """
    return topic(task.name, "cohort", role)
