"""Reports in shares under random faults: one set of bytes for each, and both answers heard."""

from __future__ import annotations

import numpy as np
import pytest

from edge_agent.agent import Phase
from fsir.privacy.plan import final_stage, first_stage
from fsir.task.secure import ROLES
from fsir.wire.shared import decode_shared
from tests.aggregator.secure.pair import PAIRS
from tests.edge_agent.learning.rounds import (
    ACTIVE,
    Counted,
    drawn_keys,
    expected_blocks,
    several,
)
from tests.edge_agent.learning.schedules import RECORDS, ROUNDS, Schedule, check_reports
from tests.edge_agent.secure.answering import Led, answer, opened_alone

SECURE = {**{role: pair.party._asdict() for role, pair in PAIRS.items()}, "cohort": 4}


class Sealed(Counted):
    """What both aggregators have got."""

    def take(self, sent):
        reports = [message for message in sent if message.is_report]
        for message in reports:
            report = decode_shared(message.payload)
            self.came.setdefault((report.stage, report.round), set()).add(message.payload)
        return reports


class SealedSchedule(Schedule):
    """A device whose two aggregators answer by themselves, each time or not."""

    kind = Led

    def __init__(self, seed):
        super().__init__(seed)
        self.counted = Sealed()

    def make_task(self, **changes):
        return several(ROUNDS, RECORDS, 6, aggregation="secure", secure=SECURE, **changes)

    def send(self):
        for message in self.counted.take(self.agent.outgoing(self.now)):
            for role in ROLES:
                if self.calm or self.rng.random() < 0.6:
                    self.answers.append(answer(message, role, task=self.task))


@pytest.mark.parametrize(
    "seeds",
    [range(18), pytest.param(range(18, 118), marks=pytest.mark.slow)],
    ids=["some", "many"],
)
def test_no_sealed_round_is_lost_or_doubled_whatever_happens_in_between(seeds):
    for seed in seeds:
        with drawn_keys() as keys:
            schedule = SealedSchedule(seed)
            schedule.run()
        ledger, _ = check_reports(schedule, keys, seed, sealed_is_made_of)
        if schedule.agent.phase is Phase.SERVING:
            assert schedule.state.outbox() == []
            assert {row.verdict for row in ledger.values()} <= {"counted", "duplicate"}, seed
            assert not any(schedule.state.answers(row.report) for row in ledger.values())


def sealed_is_made_of(task, payload, row, key):
    expected = np.concatenate(expected_blocks(task, row, key))
    return opened_alone(task, _stage(task), payload) == expected.tolist()


def _stage(task):
    if task.screening is None:
        return first_stage(task)
    return final_stage(task, task.features.indices(ACTIVE))
