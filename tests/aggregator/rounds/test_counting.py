"""Rounds are counted once, where they belong, in any order, and are taken out again exactly."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aggregator import merging
from aggregator.core import Aggregator
from aggregator.rounds.recount import agrees, recount
from aggregator.store.errors import StoreBusyError
from aggregator.store.rows import Counted
from fsir.privacy.plan import FINAL
from fsir.wire import messages
from fsir.wire.messages import Ask, encode, report_id
from tests.aggregator.batches import answer_to, started, verdict_of
from tests.aggregator.federations import report, screening_task, topic
from tests.aggregator.rounds.made import DEVICES, ROUNDS, TASK, counted, raw

PLACES = st.tuples(st.integers(0, DEVICES - 1), st.integers(1, ROUNDS))
STEPS = st.one_of(
    st.tuples(st.just("take"), PLACES),
    st.tuples(st.sampled_from(["withdraw", "readmit"]), PLACES),
    st.tuples(st.sampled_from(["commit", "kill"]), PLACES),
)
NUMBERS = count()


@pytest.fixture
def aggregator(tmp_path: Path) -> Aggregator:
    return started(tmp_path / "s.db", TASK, debounce=0.0)


def deliver(aggregator: Aggregator, places: list[tuple[int, int]]) -> None:
    for device, round in places:
        aggregator.take(topic(TASK, f"d{device}"), raw(device, round))
    aggregator.commit(1.0)


class World:
    """An aggregator, and which places must be counted if it is right."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.aggregator = started(path, TASK, debounce=0.0)
        self.waiting: list[tuple[int, int]] = []
        self.counted: set[tuple[int, int]] = set()
        self.barred: set[int] = set()

    def take(self, place: tuple[int, int]) -> None:
        self.aggregator.take(topic(TASK, f"d{place[0]}"), raw(*place))
        self.waiting.append(place)

    def commit(self, _: tuple[int, int]) -> None:
        self.aggregator.commit(1.0)
        self.counted |= {place for place in self.waiting if place[0] not in self.barred}
        self.waiting.clear()

    def kill(self, _: tuple[int, int]) -> None:
        self.aggregator.store.close()
        self.aggregator = started(self.path, TASK, debounce=0.0)
        self.waiting.clear()

    def withdraw(self, place: tuple[int, int]) -> None:
        mine = {known for known in self.counted if known[0] == place[0]}
        assert self.aggregator.withdraw(f"d{place[0]}", 2.0) == len(mine)
        self.counted -= mine
        self.barred.add(place[0])

    def readmit(self, place: tuple[int, int]) -> None:
        federation = self.aggregator.federations["test"]
        found = merging.readmit(self.aggregator.store, federation, f"d{place[0]}")
        assert (found is None) == (place[0] not in self.barred)
        self.barred.discard(place[0])


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=40))
def test_any_history_leaves_the_bits_of_what_is_counted_at_its_end(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, tuple[int, int]]]
) -> None:
    """Duplicates, late and skipped rounds, crashes, withdrawals that are undone or not."""
    folder = tmp_path_factory.mktemp(f"history-{next(NUMBERS)}")
    world = World(folder / "s.db")
    for what, place in [*steps, ("commit", (0, 1))]:
        getattr(world, what)(place)
    store = world.aggregator.store
    plain = started(folder / "plain.db", TASK, debounce=0.0)
    deliver(plain, sorted(world.counted))
    assert counted(store) == counted(plain.store)
    assert agrees(store, world.aggregator.federations["test"], FINAL)
    store.close()
    plain.store.close()


def test_rounds_are_added_up_where_they_belong(aggregator: Aggregator) -> None:
    deliver(aggregator, [(0, 3), (1, 1), (0, 1), (1, 3), (2, 3)])
    store = aggregator.store
    assert [(row.round, row.devices) for row in store.rounds(1, FINAL)] == [(1, 2), (3, 3)]
    assert store.patterns(1, FINAL) == {"1,3": 2, "3": 1}
    federation = aggregator.federations["test"]
    for round in (1, 3):
        assert (
            recount(store, federation, FINAL, round).values == store.totals(1, FINAL, round).values
        )


def test_a_receipt_is_about_the_round_in_question_or_else_the_last(aggregator: Aggregator) -> None:
    deliver(aggregator, [(0, 1), (0, 4)])
    late = answer_to(aggregator, topic(TASK, "d0"), raw(0, 2))
    assert (late.verdicts[FINAL].status, late.verdicts[FINAL].round) == ("counted", 2)
    assert verdict_of(aggregator, topic(TASK, "d0"), raw(0, 4)).status == "duplicate"
    assert aggregator.store.last(1, ["d0", "d1"]) == {
        ("d0", FINAL): Counted(4, report_id(raw(0, 4)))
    }
    ask = encode(Ask(TASK.digest, "d0", bytes(16)))
    answer = answer_to(aggregator, messages.topic(TASK.name, "ask", "d0"), ask)
    verdict = answer.verdicts[FINAL]
    assert (verdict.round, verdict.report, verdict.status) == (4, report_id(raw(0, 4)), "counted")


def test_another_report_in_the_same_place_is_refused(aggregator: Aggregator) -> None:
    deliver(aggregator, [(0, 2)])
    other = report(TASK, "d0", 999, round=2)
    verdict = verdict_of(aggregator, topic(TASK, "d0"), other)
    assert verdict.status == "refused"
    assert verdict.reason.startswith("second report")
    assert verdict.round == 2
    aggregator.withdraw("d0", 2.0)
    merging.readmit(aggregator.store, aggregator.federations["test"], "d0")
    assert verdict_of(aggregator, topic(TASK, "d0"), other).reason.startswith("second report")
    assert verdict_of(aggregator, topic(TASK, "d0"), raw(0, 2)).status == "counted"
    assert aggregator.store.patterns(1, FINAL) == {"2": 1}


@pytest.mark.parametrize("round", [0, 1, -1, 2**63, 10**9, "2", 2.0, None, True, [2]])
def test_a_round_that_is_none_is_malformed(aggregator: Aggregator, round: object) -> None:
    """The first round is not written out."""
    table = msgpack.unpackb(raw(0, 2)) | {"round": round}
    verdict = verdict_of(aggregator, topic(TASK, "d0"), msgpack.packb(table))
    assert (verdict.status, verdict.round) == ("refused", 1)
    assert verdict.reason.startswith("malformed")
    assert counted(aggregator.store) == {"totals": {}, "patterns": {}}


def test_a_round_that_the_task_does_not_have_is_refused(
    aggregator: Aggregator, tmp_path: Path
) -> None:
    verdict = verdict_of(aggregator, topic(TASK, "d0"), raw(0, ROUNDS + 1))
    assert verdict.reason == (
        "wrong round: round 7 where the final stage of 'test' has rounds 1 to 6"
    )
    assert verdict.round == ROUNDS + 1
    screened = screening_task()
    other = started(tmp_path / "screened.db", screened)
    second = report(screened, "d0", 1, round=2)
    verdict = verdict_of(other, topic(screened, "d0"), second)
    assert verdict.reason == (
        "wrong round: round 2 where the screening stage of 'screened' has one round"
    )
    assert counted(aggregator.store) == {"totals": {}, "patterns": {}}


def test_a_transaction_that_fails_half_way_counts_nothing_and_then_once(
    aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(aggregator, [(0, 1)])
    before = counted(aggregator.store)
    store = type(aggregator.store)

    def full(*_: object) -> None:
        raise StoreBusyError("disk full")

    aggregator.take(topic(TASK, "d0"), raw(0, 2))
    with monkeypatch.context() as broken:
        broken.setattr(store, "put_taken", full)
        with pytest.raises(StoreBusyError):
            aggregator.commit(2.0)
    assert counted(aggregator.store) == before
    aggregator.commit(3.0)
    deliver(aggregator, [(0, 2)])
    assert aggregator.store.patterns(1, FINAL) == {"1-2": 1}
    assert agrees(aggregator.store, aggregator.federations["test"], FINAL)
