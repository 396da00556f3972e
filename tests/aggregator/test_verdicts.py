"""What one device is answered: counted, duplicate, refused, withdrawn and let in again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aggregator import merging
from fsir.contract import task_from_table
from fsir.wire.decode import decode
from fsir.wire.messages import Receipt, report_id
from tests.aggregator.batches import answer_to, started, verdict_of
from tests.aggregator.federations import make_task, report, screening_task, topic

DEVICES = 8
PLAIN = make_task(p=3, records=60)
SCREENED = screening_task(quorum=DEVICES, p=5)
VOTED = screening_task("votes", quorum=DEVICES, p=5)
TRIMMED = make_task(p=3, records=60, aggregation="trimmed")
TRIMMED_TWICE = task_from_table(SCREENED.table() | {"aggregation": "trimmed"})
KINDS = {
    "plain": PLAIN,
    "screened": SCREENED,
    "voted": VOTED,
    "trimmed": TRIMMED,
    "trimmed twice": TRIMMED_TWICE,
}


PLAIN = make_task(p=3, records=60)


def test_the_same_bytes_again_are_a_duplicate_and_count_once(tmp_path: Path) -> None:
    aggregator = started(tmp_path / "s.db", PLAIN)
    raw = report(PLAIN, "d", 1)
    assert verdict_of(aggregator, topic(PLAIN, "d"), raw).status == "counted"
    assert verdict_of(aggregator, topic(PLAIN, "d"), raw).status == "duplicate"
    for _ in range(3):  # and within one batch
        aggregator.take(topic(PLAIN, "d"), raw)
    aggregator.commit(1.0)
    assert aggregator.store.totals(1, "final").devices == 1
    assert aggregator.verdicts == {("test", "counted"): 1, ("test", "duplicate"): 4}


def test_a_second_report_is_refused_and_the_first_stays_good(tmp_path: Path) -> None:
    aggregator = started(tmp_path / "s.db", PLAIN)
    first = report(PLAIN, "d", 1)
    verdict_of(aggregator, topic(PLAIN, "d"), first)
    refused = verdict_of(aggregator, topic(PLAIN, "d"), report(PLAIN, "d", 2))
    assert refused.reason.startswith("second report")
    assert report_id(first).hex() in refused.reason
    assert verdict_of(aggregator, topic(PLAIN, "d"), first).status == "duplicate"


def test_a_receipt_tells_about_all_stages(tmp_path: Path) -> None:
    task = screening_task(quorum=1)
    aggregator = started(tmp_path / "s.db", task)
    first = report(task, "d", 1)
    verdict_of(aggregator, topic(task, "d"), first)
    aggregator.tick(1.0)
    aggregator.commit(1.0)
    aggregator.take(topic(task, "d"), b"garbage")
    aggregator.commit(1.0)
    stage = aggregator.federations[task.name].layouts["final"].stage
    second = report(task, "d", 2, stage)
    receipt = answer_to(aggregator, topic(task, "d"), second)
    assert {stage: verdict.report for stage, verdict in receipt.verdicts.items()} == {
        "screening": report_id(first),
        "final": report_id(second),
    }


def test_a_receipt_names_the_task_that_the_report_named(tmp_path: Path) -> None:
    """A device that pinned another edition must recognise the answer."""
    aggregator = started(tmp_path / "s.db", PLAIN)
    other = make_task(p=3, records=60, epoch=2)
    receipt = answer_to(aggregator, topic(PLAIN, "d"), report(other, "d", 1))
    assert receipt.task == other.digest


def test_who_is_connected_hears_of_every_withdrawal_and_its_undoing(tmp_path: Path) -> None:
    """Each is told once, and nothing is kept that might no longer hold."""
    aggregator = started(tmp_path / "s.db", PLAIN)
    federation = aggregator.federations["test"]
    about, raw = topic(PLAIN, "d0"), report(PLAIN, "d0", 0)
    for _ in range(2):
        verdict_of(aggregator, about, raw)
        assert decode_all(aggregator.tick(1.0)) == []
        aggregator.withdraw("d0", 2.0)
        (told,) = decode_all(aggregator.tick(3.0))
        assert told.verdicts["final"].reason.startswith("withdrawn")
        assert aggregator.tick(3.0) == []
        merging.readmit(aggregator.store, federation, "d0")
        (again,) = decode_all(aggregator.tick(4.0))
        assert again.verdicts == {}
        assert aggregator.tick(5.0) == []
        aggregator.start(6.0)  # a new connection: who comes late asks
        assert aggregator.tick(7.0) == []


def decode_all(publications: list[Any]) -> list[Receipt]:
    """The receipts among what is published."""
    return [decode(found.payload, Receipt) for found in publications if "/receipt/" in found.topic]


def test_under_a_task_of_version_1_a_receipt_stays(tmp_path: Path) -> None:
    """It is all that stops a state directory from before the report."""
    task = task_from_table(PLAIN.table() | {"version": 1})
    aggregator = started(tmp_path / "s.db", task)
    verdict_of(aggregator, topic(task, "d0"), report(task, "d0", 0))
    aggregator.withdraw("d0", 2.0)
    merging.readmit(aggregator.store, aggregator.federations["test"], "d0")
    assert aggregator.tick(4.0) == []


def test_in_place_of_a_deleted_report_no_other_is_counted(tmp_path: Path) -> None:
    """The device has spent its budget on the first one; its receipts never say otherwise."""
    made = started(tmp_path / "s.db", PLAIN)
    federation = made.federations["test"]
    about, first = topic(PLAIN, "d3"), report(PLAIN, "d3", 3)
    verdict_of(made, about, first)
    made.withdraw("d3", 2.0)
    assert verdict_of(made, about, first).reason.startswith("withdrawn")
    assert merging.readmit(made.store, federation, "d3") == 1
    made.start(3.0)
    assert made.receipts() == []  # it is not counted now, and nobody says that it is
    other = verdict_of(made, about, report(PLAIN, "d3", 99))
    assert other.reason.startswith(f"second report: {report_id(first).hex()}")
    assert verdict_of(made, about, first).status == "counted"
    assert verdict_of(made, about, first).status == "duplicate"
    assert made.store.totals(1, "final").devices == 1


def test_who_was_barred_before_it_came_is_counted_after_all(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", PLAIN)
    about, raw = topic(PLAIN, "d0"), report(PLAIN, "d0", 0)
    made.withdraw("d0", 1.0)
    assert verdict_of(made, about, raw).reason.startswith("withdrawn")
    assert merging.readmit(made.store, made.federations["test"], "d0") == 0
    assert verdict_of(made, about, report(PLAIN, "d0", 7)).status == "counted"
