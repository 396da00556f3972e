"""Stores of earlier formats: read as they are, and brought up to date with all that they hold."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from aggregator.store.database import Database
from aggregator.store.errors import StoreError
from aggregator.store.rows import Counted, ReportRow, TotalsRow, VersionRow
from aggregator.store.schema import STEPS
from aggregator.store.sqlite import SqliteStore

REPORTS = 500
TOTALS = TotalsRow(devices=REPORTS, records=100 * REPORTS, change=7, values=b"12345678")
VERSION = VersionRow(
    version=1, at=2.0, devices=3, records=300, dimension=1, expected_error=0.5, angle=4.0
)


def fill(path: Path, steps: int) -> None:
    """A store as an earlier version has left it."""
    Database(path, STEPS[:steps], create=True).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO task VALUES (1, ?, 'test', 1, x'00', 1.0)", (b"t" * 32,))
        db.executemany(
            "INSERT INTO report (task, device, stage, id, n, raw, at) VALUES (1, ?, ?, ?, ?, ?, ?)",
            ((f"d{i}", "final", _id(i), 100, _raw(i), float(i)) for i in range(REPORTS)),
        )
        db.execute(
            "INSERT INTO totals VALUES (1, 'final', ?, ?, ?, ?)",
            (TOTALS.devices, TOTALS.records, TOTALS.change, TOTALS.values),
        )
        if steps >= 3:
            db.execute("INSERT INTO readmitted VALUES (1, 'd1', 'screening', ?)", (_id(1),))
            db.execute(
                "INSERT INTO version VALUES (1, 1, 2.0, 3, 300, 1, 0.5, NULL, 4.0, NULL, NULL)"
            )


def _id(number: int) -> bytes:
    return number.to_bytes(16, "big")


def _raw(number: int) -> bytes | None:
    return None if number % 5 == 0 else b"raw" * number  # of those a device was withdrawn


def content(store: SqliteStore) -> dict[str, Any]:
    place = ("d7", "final", 1)
    return {
        "reports": list(store.reports(1)),
        "counted": store.counted(3),
        "id": store.lookup(1, [place, ("d7", "final", 2)]),
        "last": store.last(1, ["d7"]),
        "totals": store.totals(1, "final"),
        "rounds": [(row.round, row.devices) for row in store.rounds(1, "final")],
        "patterns": store.patterns(1, "final"),
        "reported": store.count_devices({"key": 1, "name": "test", "stage": "final"}, "reported"),
        "readmitted": store.readmitted(1, [("d1", "screening", 1)]),
        "versions": store.versions(1, 10),
    }


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_an_earlier_store_shows_the_same_before_and_after_it_is_brought_up_to_date(
    tmp_path: Path, steps: int
) -> None:
    """Whoever only looks changes no byte; all reports are first rounds, later tables are empty."""
    path = tmp_path / "s.db"
    fill(path, steps)
    later = steps >= 3
    wanted = {
        "reports": [
            ReportRow(
                device=f"d{i}", stage="final", id=_id(i), n=100, raw=_raw(i), at=float(i), round=1
            )
            for i in range(REPORTS)
        ],
        "counted": [(500, 1, "d499"), (499, 1, "d498"), (498, 1, "d497")],
        "id": {("d7", "final", 1): _id(7)},
        "last": {("d7", "final"): Counted(1, _id(7))},
        "totals": TOTALS,
        "rounds": [(1, REPORTS)],
        "patterns": {},
        "reported": REPORTS,
        "readmitted": {("d1", "screening", 1): _id(1)} if later else {},
        "versions": [VERSION] if later else [],
    }
    before = path.read_bytes()
    with closing(SqliteStore(path, create=False)) as store:
        assert content(store) == wanted
        with store.snapshot() as snapshot:
            assert content(snapshot) == wanted
    assert path.read_bytes() == before
    for _ in range(2):
        with closing(SqliteStore(path)) as store:
            assert content(store) == wanted
            assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_move_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    fill(path, 3)
    broken = (*STEPS[:3], f"{STEPS[3]}\nINSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(StoreError, match="nowhere"):
        Database(path, broken, create=True)
    with closing(Database(path, STEPS[:3], create=False)) as same:
        assert same._db.execute("SELECT count(*) FROM report").fetchone() == (REPORTS,)
