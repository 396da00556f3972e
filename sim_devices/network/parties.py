"""The two aggregators of a simulated federation: invented, each with a key of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fsir.contract import task_from_table
from fsir.errors import FsirError
from fsir.secure.keys import KeyPair, write_pair
from fsir.task.secure import HELPER, LEADER
from fsir.task.task import SECURE, Task

FEWEST = 2  # devices whose sum may be opened


@dataclass(frozen=True)
class Parties:
    """Leader and helper, who exist for one simulation."""

    leader: KeyPair
    helper: KeyPair

    @classmethod
    def new(cls) -> Parties:
        """Two with fresh keys."""
        return cls(KeyPair.new(LEADER), KeyPair.new(HELPER))

    def write(self, folder: Path) -> dict[str, Path]:
        """The key file of each role."""
        files = {role: folder / f"{role}.key" for role in (LEADER, HELPER)}
        write_pair(self.leader, files[LEADER])
        write_pair(self.helper, files[HELPER])
        return files

    def secured(self, task: Task, cohort: int) -> Task:
        """The same task, of which these two open sums over at least `cohort` devices."""
        if cohort < FEWEST:
            raise FsirError(
                f"--trust secure: a sum of {cohort} device(s) hides nobody; at least {FEWEST} are "
                "needed"
            )
        secure = {
            LEADER: self.leader.party._asdict(),
            HELPER: self.helper.party._asdict(),
            "cohort": cohort,
        }
        return task_from_table({**task.table(), "aggregation": SECURE, "secure": secure})


def secured(task: Task, cohort: int) -> Task:
    """The same task with two invented aggregators, whose keys nobody keeps."""
    return Parties.new().secured(task, cohort)
