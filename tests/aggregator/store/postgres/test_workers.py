"""Workers of one store: names, leaders, news, and the same reports at several of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from aggregator.core import Aggregator
from aggregator.rounds.recount import agrees
from aggregator.store.errors import StoreBusyError, StoreError
from aggregator.store.opening import open_store
from aggregator.store.postgres import workers
from aggregator.store.postgres.store import PostgresStore
from aggregator.store.rows import PublishedRow
from tests.aggregator.batches import started
from tests.aggregator.federations import make_task, report, topic
from tests.postgres import Cluster
from tests.system.aggregator.daemons import wait_for

PLAIN = make_task(p=3, records=60)

BATCH = 100


def joined(address: str, name: str) -> Aggregator:
    store = open_store(address)
    store.join(name)
    made = Aggregator(store, [PLAIN], debounce=0.0)
    made.start(0.0)
    return made


def feed(worker: Aggregator, messages: list[tuple[str, bytes]]) -> int:
    """How many this worker has counted."""
    for start in range(0, len(messages), BATCH):
        for about, raw in messages[start : start + BATCH]:
            worker.take(about, raw)
        worker.commit(1.0)
    return worker.verdicts[PLAIN.name, "counted"]


def race(address: str, messages: list[tuple[str, bytes]], orders: int = 3) -> list[Aggregator]:
    """Workers that all get the same reports, each in an order of its own."""
    made = [joined(address, f"worker-{k}") for k in range(orders)]
    third = len(messages) // orders
    turned = [messages[k * third :] + messages[: k * third] for k in range(orders)]
    with ThreadPoolExecutor(orders) as pool:
        counted = list(pool.map(feed, made, turned))
    assert sum(counted) == len(messages)
    return made


def compare(postgres: Cluster, tmp_path, count: int) -> None:
    messages = [(topic(PLAIN, f"d{i}"), report(PLAIN, f"d{i}", i % 50)) for i in range(count)]
    alone = started(tmp_path / "s.db", PLAIN)
    feed(alone, messages)
    first, *others = race(postgres.fresh(), messages)
    federation = first.federations[PLAIN.name]
    assert agrees(first.store, federation, "final")
    wanted = alone.store.totals(1, "final")
    found = first.store.totals(federation.key, "final")
    assert (found.devices, found.records, found.values) == (
        wanted.devices,
        wanted.records,
        wanted.values,
    )
    for worker in (alone, first, *others):
        duplicates = worker.verdicts[PLAIN.name, "duplicate"]
        assert duplicates + worker.verdicts[PLAIN.name, "counted"] == count
        worker.store.close()


def test_three_workers_with_the_same_reports_count_each_once(postgres: Cluster, tmp_path) -> None:
    compare(postgres, tmp_path, 600)


@pytest.mark.slow
def test_three_workers_with_the_same_forty_thousand_reports(postgres: Cluster, tmp_path) -> None:
    compare(postgres, tmp_path, 40_000)


def late(worker: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a worker look before anybody has written, and write afterwards."""
    monkeypatch.setattr(worker.store, "last", lambda task, devices: {})


def test_a_second_report_that_meets_the_first_elsewhere_is_refused(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked before either has written."""
    address = postgres.fresh()
    one, other = joined(address, "one"), joined(address, "other")
    one.take(topic(PLAIN, "d"), report(PLAIN, "d", 1))
    one.commit(1.0)
    late(other, monkeypatch)
    other.take(topic(PLAIN, "d"), report(PLAIN, "d", 2))
    other.take(topic(PLAIN, "e"), report(PLAIN, "e", 3))
    other.commit(1.0)
    assert other.verdicts == {(PLAIN.name, "second report"): 1, (PLAIN.name, "counted"): 1}
    assert one.store.totals(1, "final").devices == 2
    one.store.close()
    other.store.close()


def test_of_two_reports_in_a_batch_the_one_that_was_counted_elsewhere_is_a_duplicate(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one came first here, and would have been counted."""
    address = postgres.fresh()
    one, other = joined(address, "one"), joined(address, "other")
    one.take(topic(PLAIN, "d"), report(PLAIN, "d", 1))
    one.commit(1.0)
    late(other, monkeypatch)
    for seed in (2, 1):
        other.take(topic(PLAIN, "d"), report(PLAIN, "d", seed))
    other.commit(1.0)
    assert other.verdicts == {(PLAIN.name, "second report"): 1, (PLAIN.name, "duplicate"): 1}
    assert one.store.totals(1, "final").devices == 1
    one.store.close()
    other.store.close()


def test_a_name_belongs_to_one_worker(postgres: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    address = postgres.fresh()
    one, other = PostgresStore(address), PostgresStore(address)
    one.join("a")
    with monkeypatch.context() as hasty:
        hasty.setattr(workers, "_JOIN_SECONDS", 0.0)
        with pytest.raises(StoreError, match="give each its own --worker"):
            other.join("a")
    one.close()  # the server may take a moment to notice
    other.join("a")
    other.close()


def test_one_worker_leads_and_another_takes_over(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_TRY_SECONDS", 0.0)
    address = postgres.fresh()
    one, other = joined(address, "one"), joined(address, "other")
    assert one.store.leads(1)
    assert not other.store.leads(1)
    feed(other, [(topic(PLAIN, f"d{i}"), report(PLAIN, f"d{i}", i)) for i in range(30)])
    assert other.estimate(2.0) == []
    (made,) = one.estimate(2.0)
    one.store.close()
    (repeated,) = other.tick(2.0)  # the others publish it at once, on their own brokers
    assert repeated == made
    assert other.tick(2.0) == []
    wait_for(lambda: other.store.leads(1), "the server to let go of the lead")
    other.store.close()


def test_who_has_lost_the_lead_publishes_nothing_older(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.fresh()
    one, other = joined(address, "one"), joined(address, "other")
    feed(one, [(topic(PLAIN, f"d{i}"), report(PLAIN, f"d{i}", i)) for i in range(30)])
    (job,) = one.jobs(2.0)
    result = job.run()
    postgres.run(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
        f" AND pid = {one.store._db.raw.info.backend_pid}"
    )
    monkeypatch.setattr(workers, "_TRY_SECONDS", 0.0)
    wait_for(lambda: other.store.leads(1), "the lead")
    assert len(other.estimate(3.0)) == 1
    with pytest.raises(StoreBusyError):
        one.store.tasks()  # the next one has a new connection
    assert one.estimating.publish(job, result, 3.0) == []
    one.store.close()
    other.store.close()


def test_news_are_told_once(postgres: Cluster) -> None:
    address = postgres.fresh()
    one, other = joined(address, "one"), joined(address, "other")
    other.store.news()
    assert not other.store.news()
    with one.store.transaction():
        row = PublishedRow(body=b"x", version=1, change=1, at=1.0)
        one.store.put_published(1, "subspace", row)
    assert other.store.news()
    assert not other.store.news()
    one.store.close()
    other.store.close()


def test_withdrawing_folds_the_parts_and_workers_count_on(postgres: Cluster) -> None:
    address = postgres.fresh()
    one, other = joined(address, "one"), joined(address, "other")
    for k, worker in enumerate((one, other)):
        names = [f"d{k}{i}" for i in range(10)]
        feed(worker, [(topic(PLAIN, name), report(PLAIN, name, 1)) for name in names])
    before = one.store.totals(1, "final")
    assert other.withdraw("d03", 2.0) == 1
    for k, worker in enumerate((one, other)):
        feed(worker, [(topic(PLAIN, f"e{k}"), report(PLAIN, f"e{k}", 2))])
    after = one.store.totals(1, "final")
    assert (before.devices, after.devices) == (20, 21)
    assert after.change > before.change
    assert agrees(other.store, other.federations[PLAIN.name], "final")
    one.store.close()
    other.store.close()


def test_who_is_alone_and_who_adds_wait_for_each_other(postgres: Cluster) -> None:
    """A withdrawal folds the parts: beside one that is written it would count twice, or lose."""
    address = postgres.fresh()
    one, other = joined(address, "one"), joined(address, "other")
    feed(one, [(topic(PLAIN, f"d{i}"), report(PLAIN, f"d{i}", i)) for i in range(9)])
    new = [(topic(PLAIN, "e"), report(PLAIN, "e", 1))]
    query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with ThreadPoolExecutor(1) as pool:
        with one.store.adding():
            withdrawn = pool.submit(other.withdraw, "d3", 2.0)
            wait_for(lambda: postgres.run(query) == [(1,)], "the withdrawal to wait")
        assert withdrawn.result(60) == 1
        with one.store.transaction():
            counted = pool.submit(feed, other, new)
            wait_for(lambda: postgres.run(query) == [(1,)], "the batch to wait")
        assert counted.result(60) == 1
    assert agrees(one.store, one.federations[PLAIN.name], "final")
    one.store.close()
    other.store.close()
