"""The owner's policy: what a device agrees to, decided on the device.

    epsilon = 2.0            # everything that ever leaves the device about one unit of data ...
    delta = 1e-6             # ... together, at this delta
    unproven = []            # mechanisms accepted without proof, each by name ...
                             # ... (whoever lists one has no guarantee)
    unit_records = 1         # the fewest consecutive records that a task must protect together
    never_share = []         # what no report may be about, feature or response ...
                             # ... ("heart*": all that begin so)
    largest_clip = 1000.0    # a task that clips further out would spend the budget on noise
    exact_count = false      # whether a report may tell without noise how many records it is about
    presence = false         # whether others may see when this device is on
    stay = true              # whether to stay connected when every report has its receipt; a ...
                             # ... device that runs on a battery leaves, and comes back now and then
    version_1 = false        # whether a task may wait for records that it accepts, as the first ...
                             # ... ones did: then it sees when such records came
    aggregation = "any"      # "local": only tasks in which this device adds all of the noise; ...
                             # ... "secure": only those of which two aggregators open sums
    epsilon_if_both_collude = 8.0   # the most that such a task may cost if they work together
    hold = true              # whether a report about records that are plainly not what the task ...
                             # ... expects waits until the owner has looked
    rounds = 1               # the most reports about ever new records that a task may ask for
    epsilon_for_100_records  # everything that ever leaves the device about any 100 records ...
                             # ... together, at the same delta; without it there is no such cap

A missing file or field means the value above. The exact count is what a task with a deadline needs.
A task of version 1 that this device has accepted before goes on as it began. Whether a report is
held depends on the records, and that it does not come is seen: the decision is noisy, and booked in
the ledger (docs/privacy.md, proposition 12). What a task would cost if both of its aggregators
worked together (theorem 15) is looked at for each task by itself. Rounds cost a record nothing
more, because each is about other records; what they tell about habits, about ten or a hundred
records together, grows.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from pathlib import Path
from typing import NamedTuple

from edge_agent.consent import sharing, trust
from edge_agent.consent.budget import Cost, total_epsilon
from edge_agent.consent.groups import Group, group_epsilon
from edge_agent.consent.planned import planned, planned_groups
from edge_agent.consent.trust import AGGREGATIONS, ANY, ROUNDING
from fsir.errors import FsirError, TaskError
from fsir.fields import Table
from fsir.privacy.claims import statement
from fsir.task.task import MECHANISMS, Task

GROUP_RECORDS = 100


class PolicyError(FsirError):
    """A policy file that cannot be read."""


class Policy(NamedTuple):
    """What a device agrees to.

    >>> Policy(epsilon=0.5).epsilon
    0.5
    """

    epsilon: float = 2.0
    delta: float = 1e-6
    unproven: tuple[str, ...] = ()
    unit_records: int = 1
    never_share: tuple[str, ...] = ()
    largest_clip: float = 1000.0
    exact_count: bool = False
    presence: bool = False
    stay: bool = True
    version_1: bool = False
    aggregation: str = ANY
    epsilon_if_both_collude: float = 8.0
    hold: bool = True
    rounds: int = 1
    epsilon_for_100_records: float | None = None

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a TOML file."""
        import tomllib  # most runs read no such file

        try:
            with open(path, "rb") as file:
                policy = cls._read(Table(tomllib.load(file), "policy"))
        except OSError as error:
            raise PolicyError(
                f"policy file {path}: {error.strerror}; give the path of a TOML file"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PolicyError(f"policy file {path}: not valid TOML: {error}") from None
        except TaskError as error:
            raise PolicyError(f"policy file {path}: {error}") from None
        if unknown := set(policy.unproven) - set(MECHANISMS):
            raise PolicyError(
                f"policy file {path}: unproven = {sorted(unknown)}: there is no such mechanism"
            )
        return policy

    @classmethod
    def _read(cls, table: Table) -> Policy:
        usual = cls()
        policy = cls(
            epsilon=table.number("epsilon", usual.epsilon, above=0),
            delta=table.number("delta", usual.delta, above=0, below=1),
            unproven=table.texts("unproven", (), at_most=len(MECHANISMS)),
            unit_records=table.whole("unit_records", usual.unit_records, low=1),
            never_share=table.texts("never_share", (), at_most=10_000),
            largest_clip=table.number("largest_clip", usual.largest_clip, above=0),
            exact_count=table.flag("exact_count", usual.exact_count),
            presence=table.flag("presence", usual.presence),
            stay=table.flag("stay", usual.stay),
            version_1=table.flag("version_1", usual.version_1),
            aggregation=table.choice("aggregation", usual.aggregation, AGGREGATIONS),
            epsilon_if_both_collude=table.number(
                "epsilon_if_both_collude", usual.epsilon_if_both_collude, above=0
            ),
            hold=table.flag("hold", usual.hold),
            rounds=table.whole("rounds", usual.rounds, low=1),
            epsilon_for_100_records=table.optional_number("epsilon_for_100_records", above=0),
        )
        table.done()
        return policy

    def refusals(self, task: Task, *, begun: bool = False) -> list[str]:
        """Why this device would not take part, whatever it has spent so far; empty if it would.

        A task that it has begun may end as it began.
        """
        reasons = [
            *self._about_mechanism(task),
            *self._about_records(task),
            *trust.refusals(task, self.aggregation, self.epsilon_if_both_collude, self.delta),
        ]
        reasons = reasons or [
            *self.over_budget(planned(task), ()),
            *self.over_group_budget(planned_groups(task)),
        ]
        return reasons if begun else [*reasons, *self._about_version(task)]

    def _about_mechanism(self, task: Task) -> list[str]:
        reasons = []
        claim = statement(task)
        if not claim.proven and task.privacy.mechanism not in self.unproven:
            reasons.append(
                f"mechanism {claim.mechanism!r} is not proven to meet its claim ({claim.reason}); "
                f'the owner would have to accept it by name: unproven = ["{claim.mechanism}"]'
            )
        if task.privacy.epsilon > self.epsilon * ROUNDING and not claim.proven:
            reasons.append(
                f"it claims epsilon {task.privacy.epsilon:g}; the owner's cap is {self.epsilon:g}"
            )
        return reasons

    def _about_records(self, task: Task) -> list[str]:
        reasons = []
        if task.privacy.unit_records < self.unit_records:
            reasons.append(
                f"it protects {task.privacy.unit_records} record(s) together; "
                f"the owner asks for {self.unit_records}"
            )
        reasons += sharing.refusals(task, self.never_share)
        if task.report.deadline is not None and not self.exact_count:
            reasons.append(
                "it has a deadline, so that a report tells without noise how many records there "
                "were; the owner would have to accept that: exact_count = true"
            )
        if task.clip.truncate > self.largest_clip:
            reasons.append(
                f"it clips at {task.clip.truncate:g} scales, so that noise would bury the data; "
                f"the owner's limit is {self.largest_clip:g}"
            )
        if task.rounds > self.rounds:
            reasons.append(
                f"it asks for {task.rounds} rounds of reports, which tell more about habits than "
                f"one does; the owner allows {self.rounds}; to accept them: rounds = {task.rounds}"
            )
        return reasons

    def _about_version(self, task: Task) -> list[str]:
        """Why a new task of the first version is not taken."""
        if task.counts_refused or self.version_1:
            return []
        return [
            "it is of version 1, which waits for records of its classes, so that the time of a "
            "report tells when they came; let it be of version 2, "
            "or the owner would have to accept that: version_1 = true"
        ]

    def over_budget(self, costs: Collection[Cost], spent: Collection[Cost]) -> list[str]:
        """Why these releases do not fit under the cap, on top of those already made."""
        if any(cost.mu == inf for cost in costs):
            return []  # the owner has accepted this mechanism by name: no number can be put on it
        total = total_epsilon([*spent, *costs], self.delta)
        if total <= self.epsilon * ROUNDING:
            return []
        so_far = f", of which {total_epsilon(spent, self.delta):.3g} is spent" if spent else ""
        return [
            f"it would bring the total to epsilon {total:.3g}{so_far}; "
            f"the owner's cap is {self.epsilon:g} at delta {self.delta:g}"
        ]

    def over_group_budget(self, groups: Collection[Group]) -> list[str]:
        """Why all these releases together tell too much about some hundred records."""
        cap = self.epsilon_for_100_records
        if cap is None or any(cost.mu == inf for group in groups for cost in group.costs):
            return []
        total = group_epsilon(groups, GROUP_RECORDS, self.delta)
        if total <= cap * ROUNDING:
            return []
        return [
            f"any {GROUP_RECORDS} records together would have told epsilon {total:.3g}; "
            f"the owner's cap is epsilon_for_100_records = {cap:g} at delta {self.delta:g}"
        ]


def policy_of(path: str | None) -> Policy:
    """The policy in a file; without one, what every device agrees to.

    >>> policy_of(None) == Policy()
    True
    """
    return Policy() if path is None else Policy.load(path)
