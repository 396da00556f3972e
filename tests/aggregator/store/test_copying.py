"""A federation that moves to another engine and back is the same, and goes on."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from aggregator.cli import main
from aggregator.core import Aggregator
from aggregator.store.base import Store
from aggregator.store.opening import open_store
from aggregator.store.tables.copies import COLUMNS
from tests.aggregator.batches import deliver
from tests.aggregator.federations import make_task, report, screening_task, topic
from tests.postgres import Cluster

PLAIN = make_task(p=3, records=60)
SCREENED = screening_task()


@pytest.fixture
def source(tmp_path: Path) -> str:
    """The address of a store with something in most of its tables."""
    address = f"sqlite:{tmp_path / 'old.db'}"
    with closing(open_store(address)) as store:
        made = Aggregator(store, [PLAIN, SCREENED], debounce=0.0)
        made.start(0.0)
        deliver(made, PLAIN, range(30))
        deliver(made, SCREENED, range(5))
        made.take(topic(PLAIN, "d0"), report(PLAIN, "d0", 99))  # a second report
        made.commit(2.0)
        made.estimate(3.0)
        made.withdraw("d3", 4.0)
        store.enrol(PLAIN.name, ["d1", "d2"], 1.0)
    return address


def content(address: str) -> dict[str, list[tuple[object, ...]]]:
    with closing(open_store(address, create=False)) as store, store.snapshot() as still:
        return {table: [tuple(row) for row in still.rows_of(table)] for table in COLUMNS} | {
            "totals": [(row.key, *_totals(still, row.key)) for row in still.tasks()]
        }


def _totals(store: Store, key: int) -> list[object]:
    return [store.totals(key, stage) for stage in ("screening", "final")]


def test_there_and_back_everything_is_the_same(
    tmp_path: Path, postgres: Cluster, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    there = postgres.fresh()
    back = f"sqlite:{tmp_path / 'back.db'}"
    assert main(["store", "copy", source, there]) == 0
    assert "copied and recounted" in capsys.readouterr().out
    assert main(["store", "copy", there, back]) == 0
    assert content(source) == content(there) == content(back)
    assert content(source)["refused"]
    for address in (there, back):
        with closing(open_store(address)) as store:
            made = Aggregator(store, [PLAIN, SCREENED], debounce=0.0)
            made.start(5.0)
            deliver(made, PLAIN, range(40), 6.0)
            assert made.verdicts[PLAIN.name, "counted"] == 10
            assert made.verdicts[PLAIN.name, "duplicate"] == 29
    assert content(there)["totals"] == content(back)["totals"]


def test_what_a_text_of_the_server_cannot_hold_is_written_out(
    tmp_path: Path, postgres: Cluster, source: str
) -> None:
    """A file keeps whatever a message has said."""
    there = postgres.fresh()
    with closing(open_store(source)) as store, store.transaction():
        (row, *_) = store.refused(1)
        store.refuse([replace(row, detail="not \0 a text")])
    assert main(["store", "copy", source, there]) == 0
    with closing(open_store(there)) as store:
        assert store.refused(1)[0].detail == "not \\0 a text"


def test_a_store_that_holds_something_is_not_written_over(
    postgres: Cluster, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    there = postgres.fresh()
    assert main(["store", "copy", source, there]) == 0
    assert main(["store", "copy", source, there]) == 2
    assert "give an empty one" in capsys.readouterr().err


def test_a_store_that_does_not_add_up_is_not_copied(
    tmp_path: Path, postgres: Cluster, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    there = postgres.fresh()
    with closing(open_store(source)) as store, store.transaction():
        totals = store.totals(1, "final")
        store.put_totals(1, "final", type(totals)(devices=7, records=1, change=9))
    assert main(["store", "copy", source, there]) == 2
    assert "do not add up" in capsys.readouterr().err
    with closing(open_store(there)) as store:
        assert store.tasks() == []
