"""Asks: of several copies of a device one goes on, whatever they ask and in whatever order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.core import Aggregator
from fsir.limits import ID_BYTES
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Ask, Receipt, encode
from tests.aggregator.batches import answer_to, deliver, started
from tests.aggregator.federations import make_task, report, topic

TASK = make_task(p=3, records=60)
OLD = replace(TASK, version=1)


def number(name: str) -> bytes:
    """The number of this name."""
    return name.encode().ljust(16)


def place(device: str) -> str:
    """Where a device asks."""
    return messages.topic(TASK.name, "ask", device)


def ask(device: str, name: str, previous: str = "", task: bytes = TASK.digest) -> bytes:
    """The bytes of an ask."""
    return encode(Ask(task, device, number(name), number(previous) if previous else b""))


def held(aggregator: Aggregator, device: str, name: str, previous: str = "") -> str:
    """The number that a device which asks is told."""
    answer = answer_to(aggregator, place(device), ask(device, name, previous))
    assert answer.task == TASK.digest
    return answer.instance.decode().rstrip()


@pytest.fixture
def aggregator(tmp_path: Path) -> Aggregator:
    return started(tmp_path / "s.db", TASK)


def test_a_number_moves_on_only_from_the_one_that_is_held(aggregator: Aggregator) -> None:
    assert held(aggregator, "d0", "a") == "a"
    assert held(aggregator, "d0", "a") == "a"  # the answer was lost
    assert held(aggregator, "d0", "b", "a") == "b"
    assert held(aggregator, "d0", "c", "a") == "b"  # a copy
    assert held(aggregator, "d0", "d") == "b"  # a new directory under the old name
    assert held(aggregator, "d0", "d", "c") == "b"
    assert held(aggregator, "d0", "e", "b") == "e"
    assert held(aggregator, "d1", "x", "y") == "x"  # our store is older than that device
    assert aggregator.asks == {("test", "confirmed"): 5, ("test", "another"): 3}
    assert aggregator.verdicts == {}


def test_a_batch_of_asks_is_answered_in_its_order(aggregator: Aggregator) -> None:
    for device, name, previous in (("d0", "a", ""), ("d1", "z", ""), ("d0", "b", "a")):
        aggregator.take(place(device), ask(device, name, previous))
    answers = [decode(p.payload, Receipt) for p in aggregator.commit(1.0)]
    assert [(a.device, a.instance) for a in answers] == [
        ("d0", number("a")),
        ("d1", number("z")),
        ("d0", number("b")),
    ]


def test_a_number_is_on_the_disk_before_it_is_told(tmp_path: Path) -> None:
    first = started(tmp_path / "s.db", TASK)
    assert held(first, "d0", "a") == "a"
    second = started(tmp_path / "s.db", TASK)  # beside the first, which is not closed
    assert held(second, "d0", "b") == "a"
    assert held(second, "d0", "c", "a") == "c"
    assert held(first, "d0", "d", "a") == "c"


# --- receipts -------------------------------------------------------------------------------------


def test_receipts_tell_the_number_to_whoever_has_asked_and_to_nobody_else(tmp_path: Path) -> None:
    """What others read is the same to the byte; the broker keeps only what nobody can ask for."""
    kept = deliver(started(tmp_path / "t.db", OLD), OLD, range(2))
    assert all(p.retain for p in kept)
    plain = {p.topic: p.payload for p in kept}
    aggregator = started(tmp_path / "s.db", TASK)
    assert held(aggregator, "d0", "a") == "a"
    aggregator.take(place("d0"), ask("d0", "b", "a"))
    answers = deliver(aggregator, TASK, range(2))
    assert not any(p.retain for p in answers)
    told = {p.topic: p.payload for p in answers}
    asked, other = (
        decode(told[messages.topic("test", "receipt", d)], Receipt) for d in ("d0", "d1")
    )
    assert asked.instance == number("b")
    assert asked.verdicts["final"].status == "counted"
    assert other.instance == b""
    about = "fsir/1/test/receipt/d1"
    before = decode(plain[about], Receipt)
    assert other._replace(task=OLD.digest, verdicts=before.verdicts) == before
    assert len(told[about]) == len(plain[about])
    again = answer_to(started(tmp_path / "s.db", TASK), place("d0"), ask("d0", "b"))
    assert again == asked  # whoever asks is told the same on any connection


def test_an_answer_tells_what_was_counted(aggregator: Aggregator) -> None:
    (counted,) = deliver(aggregator, TASK, range(1))
    answer = answer_to(aggregator, place("d0"), ask("d0", "a"))
    assert answer.verdicts == decode(counted.payload, Receipt).verdicts
    assert answer.instance == number("a")


def test_a_withdrawn_device_is_answered_and_told_so(aggregator: Aggregator) -> None:
    """What it has sent was counted, so that a copy of its state does not send another report."""
    (counted,) = deliver(aggregator, TASK, range(1))
    (sent,) = decode(counted.payload, Receipt).verdicts.values()
    aggregator.withdraw("d0", 2.0)
    answer = answer_to(aggregator, place("d0"), ask("d0", "a"))
    reason = "withdrawn: 'd0' was taken out of this task"
    assert answer.verdicts == {"final": sent._replace(reason=reason)}
    assert answer.instance == number("a")


def test_who_was_withdrawn_before_any_report_is_told_before_it_spends(
    aggregator: Aggregator,
) -> None:
    aggregator.withdraw("d7", 2.0)
    answer = answer_to(aggregator, place("d7"), ask("d7", "a"))
    (verdict,) = answer.verdicts.values()
    assert (verdict.status, verdict.report) == ("refused", bytes(ID_BYTES))
    assert verdict.reason.startswith("withdrawn: ")


def test_a_device_that_stays_connected_is_told_once_whoever_comes_later_asks(
    tmp_path: Path,
) -> None:
    aggregator = started(tmp_path / "s.db", TASK)
    deliver(aggregator, TASK, range(2))
    assert held(aggregator, "d1", "a") == "a"
    assert aggregator.tick(2.0) == []
    aggregator.withdraw("d1", 3.0)
    (told,) = aggregator.tick(4.0)
    receipt = decode(told.payload, Receipt)
    assert told.topic == "fsir/1/test/receipt/d1"
    assert receipt.verdicts["final"].reason.startswith("withdrawn: ")
    assert receipt.instance == number("a")
    assert not told.retain
    assert aggregator.tick(5.0) == []
    aggregator.start(6.0)  # on the next connection
    assert aggregator.tick(7.0) == []
    assert answer_to(aggregator, place("d1"), ask("d1", "a")) == receipt


def test_under_a_task_of_version_1_nobody_is_told_unasked(tmp_path: Path) -> None:
    old = started(tmp_path / "s.db", OLD)
    deliver(old, OLD, range(1))
    old.withdraw("d0", 2.0)
    assert old.tick(3.0) == []


def test_a_device_of_an_earlier_edition_is_answered_about_that(tmp_path: Path) -> None:
    """So that it sends its report, which is refused: it would wait for ever."""
    first = started(tmp_path / "s.db", TASK)
    assert held(first, "d0", "a") == "a"
    later = started(tmp_path / "s.db", replace(TASK, epoch=2))
    answer = answer_to(later, place("d0"), ask("d0", "b", "a"))
    assert (answer.task, answer.instance) == (TASK.digest, number("b"))
    refusal = answer_to(later, topic(TASK, "d0"), report(TASK, "d0", 1))
    assert (refusal.task, refusal.instance) == (TASK.digest, b"")
    assert refusal.verdicts["final"].reason.startswith("wrong task")
    other = answer_to(later, place("d0"), ask("d0", "x", task=replace(TASK, epoch=2).digest))
    assert other.instance == number("x")  # each edition has a number of its own


# --- what is refused ------------------------------------------------------------------------------

REFUSED = {
    "malformed": (place("d0"), b"\xc1"),
    "wrong version": (place("d0"), ask("d0", "a").replace(b"\xa1v\x01", b"\xa1v\x02")),
    "wrong task": (place("d0"), ask("d0", "a", task=OLD.digest)),
    "wrong device": (place("d0"), ask("d1", "a")),
    "wrong topic": (place("#"), ask("d0", "a")),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_no_ask_is_refused_and_not_answered(aggregator: Aggregator, reason: str) -> None:
    about, raw = REFUSED[reason]
    aggregator.take(about, raw)
    assert aggregator.commit(1.0) == []
    (kept,) = aggregator.store.refused(9)
    assert (kept.reason, kept.raw) == (reason, raw)
    assert {outcome for _, outcome in aggregator.verdicts} == {reason}
    assert aggregator.asks == {}
    assert aggregator.store.instances(1, ["d0", "d1"]) == {}


def test_nobody_asks_under_a_task_of_version_1(tmp_path: Path) -> None:
    aggregator = started(tmp_path / "s.db", OLD)
    aggregator.take(place("d0"), ask("d0", "a", task=OLD.digest))
    assert aggregator.commit(1.0) == []
    assert {outcome for _, outcome in aggregator.verdicts} == {"wrong topic"}


# --- any order ------------------------------------------------------------------------------------

COPIES = 3
which = st.integers(0, COPIES - 1)
moves = st.one_of(
    st.tuples(st.sampled_from(["connect", "ask", "ask in vain"]), which, which),
    st.tuples(st.just("copy"), which, which),
)


class Copy:
    """A copy of a device, reduced to its numbers."""

    def __init__(self) -> None:
        self.drawn = ["first"]
        self.connected = False
        self.confirmed = False
        self.stopped = False
        self.asked = False  # since it was copied, or is a copy

    def connect(self, name: str) -> None:
        self.previous = self.drawn[-1]
        self.drawn.append(name)
        self.connected = True
        self.confirmed = False

    def hear(self, told: str) -> None:
        self.confirmed = told == self.drawn[-1]
        self.stopped = told not in self.drawn
        self.previous = told

    def take_over(self, other: Copy) -> None:
        """Become a copy of what the other one has on its disk."""
        self.drawn = list(other.drawn)
        self.stopped = other.stopped
        self.connected = False
        self.confirmed = False
        self.asked = False
        other.asked = False


@settings(deadline=None, max_examples=100)
@given(moves=st.lists(moves, max_size=40))
def test_of_copies_that_have_asked_since_at_most_one_goes_on(
    moves: list[tuple[str, int, int]],
) -> None:
    """Whatever is lost on the way, and whenever a copy is made."""
    with TemporaryDirectory() as folder:
        aggregator = started(Path(folder) / "s.db", TASK)
        assert held(aggregator, "d0", "first") == "first"
        copies = [Copy() for _ in range(COPIES)]
        for turn, (move, who, other) in enumerate(moves):
            copy = copies[who]
            if move == "copy":
                copy.take_over(copies[other])
            elif move == "connect":
                copy.connect(str(turn))
            elif copy.connected and not copy.stopped:
                copy.asked = True
                told = held(aggregator, "d0", copy.drawn[-1], copy.previous)
                if move == "ask":
                    copy.hear(told)
            assert sum(one.asked and one.confirmed for one in copies) <= 1
        aggregator.store.close()


def test_numbers_of_several_editions_are_taken_in_one_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever comes first: workers who take them in two orders wait for each other for ever."""
    newer = replace(TASK, epoch=2)
    started(tmp_path / "s.db", TASK).store.close()
    aggregator = started(tmp_path / "s.db", newer)
    hold = aggregator.store.hold_instances
    keys: list[int] = []

    def noted(task: int, devices: Sequence[str]) -> dict[str, bytes]:
        keys.append(task)
        return hold(task, devices)

    monkeypatch.setattr(aggregator.store, "hold_instances", noted)
    for tasks in ((TASK, newer), (newer, TASK)):
        for task in tasks:
            aggregator.take(place("d0"), ask("d0", "a", task=task.digest))
        aggregator.commit(1.0)
    assert keys[:2] == keys[2:]
    assert len(set(keys)) == 2
