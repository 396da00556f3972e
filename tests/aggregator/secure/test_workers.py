"""Several workers of the helper on one store: all of them hear every proposal."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aggregator.secure.core import SecureAggregator
from aggregator.secure.seat import Seat
from aggregator.store.opening import open_store
from fsir.privacy.plan import first_stage
from fsir.secure.keys import verifier
from fsir.secure.report import secure_of
from fsir.task.secure import HELPER, LEADER
from fsir.wire.cohort import Answer, Heading, Proposal, decode_cohort, encode_cohort
from fsir.wire.messages import report_id, topic
from tests.aggregator.secure.pair import PAIRS, one_hot, sealed, secure_task

TASK = secure_task(4, cohort=3)
STAGE = first_stage(TASK)
WORKERS = 3
DEVICES = 12
PROPOSALS = 40
NUMBERS = 8  # of cohorts that are asked for


@pytest.fixture(params=("sqlite", "postgresql"))
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a store that is not there yet."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 's.db'}"
    return str(request.getfixturevalue("postgres").fresh())


def joined(address: str, name: str) -> SecureAggregator:
    store = open_store(address)
    store.join(name)
    made = SecureAggregator(store, [TASK], Seat(HELPER, PAIRS[HELPER]))
    made.start(0.0)
    return made


def said_by(address: str, name: str, words: list[bytes]) -> list[bytes]:
    """All that a worker says to these proposals, one after the other."""
    worker = joined(address, name)
    said = []
    for raw in words:
        worker.take(topic(TASK.name, "cohort", LEADER), raw)
        said += [one.payload for one in worker.commit(1.0)]
    worker.store.close()
    return said


def waiting(address: str) -> list[bytes]:
    """Reports of all devices reach the helper; their ids."""
    worker = joined(address, "first")
    reports = {f"d{i}": sealed(TASK, f"d{i}", one_hot(STAGE, i)) for i in range(DEVICES)}
    for device, raw in reports.items():
        worker.take(topic(TASK.name, "report", device), raw)
    worker.commit(1.0)
    worker.store.close()
    return [report_id(raw) for raw in reports.values()]


def test_whatever_is_asked_of_all_at_once_each_report_is_opened_once(address: str) -> None:
    """Overlapping cohorts, the same numbers with other reports, in another order at each worker."""
    rng = random.Random(1)
    ids = waiting(address)
    proposals = [
        Proposal(
            Heading(task=TASK.digest, stage="final", number=1 + k % NUMBERS),
            tuple(sorted(rng.sample(ids, 4))),
        )
        for k in range(PROPOSALS)
    ]
    words = [encode_cohort(proposal, PAIRS[LEADER].sign) for proposal in proposals]
    names = [f"worker-{k}" for k in range(WORKERS)]
    turned = [rng.sample(words, len(words)) for _ in names]
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = [
            one for said in pool.map(said_by, [address] * WORKERS, names, turned) for one in said
        ]
    assert len(answers) == WORKERS * PROPOSALS
    opened: dict[Heading, set[bytes]] = {}
    members: dict[Heading, tuple[bytes, ...]] = {}
    for raw in answers:
        message = decode_cohort(raw, verifier(secure_of(TASK)))
        if isinstance(message, Answer):
            opened.setdefault(message.heading, set()).add(raw)
            members[message.heading] = message.ids
    assert len(members) >= 2
    assert all(len(said) == 1 for said in opened.values())
    named = [id for some in members.values() for id in some]
    assert len(named) == len(set(named))
