"""The store in SQLite: its tables stay what they are, and no byte is left of who was withdrawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aggregator.store.database import Database
from aggregator.store.errors import StoreBusyError, StoreError
from aggregator.store.opening import open_store
from aggregator.store.schema import STEPS
from aggregator.store.sqlite import SqliteStore
from aggregator.store.tables.quarantine import QUARANTINE_BYTES
from tests.aggregator.store.rows import refusal, row

# Of each format.
TABLES = (
    "4e1adb407c7de3339fe05d8a2fe347e91a932bd3be4c8f6df2a4e45efa9574d5",
    "96ea921be77cb448cf8eecc1ed46f09fc18d0a234a984353dc76cdbe11bedd5a",
    "bf615866829d12d6625872a38dc9851cdb4245b071299328c767598157698410",
    "734dce747db781eabb204b1a933b3ea77163b72012169c1326c120547005c29f",
    "2d397035f492d81cdcb419b2a2a6f026cc237e3feb1f66ac81e46727b230e995",
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "s.db")
    made.add_task(b"t" * 32, "test", 1, b"body", 1.0)
    yield made
    made.close()


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_the_tables_are_those_of_every_store_so_far(tmp_path: Path, number: int) -> None:
    """A file keeps the text of its tables: whoever changes it needs another format."""
    made = Database(tmp_path / "tables.db", STEPS[: number + 1], create=True)
    texts = made._db.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
    made.close()
    raw = "\n".join(text for (text,) in texts if text).encode()
    assert hashlib.sha256(raw).hexdigest() == TABLES[number]


def test_a_store_of_an_earlier_format_gets_the_later_tables_when_it_is_served(
    tmp_path: Path,
) -> None:
    """Whoever only looks leaves it as it is: an earlier daemon may be serving from it."""
    Database(tmp_path / "old.db", STEPS[:1], create=True).close()
    for create, formats in ((False, 1), (True, 5), (False, 5), (True, 5)):
        opened = SqliteStore(tmp_path / "old.db", create=create)
        assert opened._db.execute("PRAGMA user_version").fetchone() == (formats,)
        opened.add_task(b"t" * 32, "test", 1, b"body", 1.0)
        # Who only looks finds the later tables empty.
        assert opened.instances(1, ["a"]) == {}
        assert opened.versions(1, 10) == []
        assert opened.roster_size("test") == 0
        opened.close()


def test_of_a_withdrawn_device_no_byte_is_left_in_any_file(
    tmp_path: Path, store: SqliteStore
) -> None:
    secret = bytes(range(256)) * 8
    with store.transaction():
        store.insert(1, [row("a")._replace(raw=secret), row("b")])
        store.refuse([replace(refusal(1), device="a", raw=secret[:QUARANTINE_BYTES])])
    elsewhere = SqliteStore(tmp_path / "s.db", create=False)
    with elsewhere.transaction():
        elsewhere.withdraw(1, "a", 3.0)
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    # In the log: hence the next line.
    assert any(secret[:256] in path.read_bytes() for path in files)
    assert elsewhere.scrub()
    assert not any(secret[:256] in path.read_bytes() for path in files)
    elsewhere._db.execute("PRAGMA busy_timeout=10")
    with store.snapshot() as snapshot:
        assert list(snapshot.reports(1))
        with elsewhere.transaction():
            elsewhere.withdraw(1, "b", 4.0)
        assert not elsewhere.scrub()  # said, and not claimed
    elsewhere.close()


@pytest.mark.parametrize(
    "address", ["", "s.db", "sqlite:", "postgresql:host/db", "mysql://host/db", "sqlite"]
)
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(StoreError, match="sqlite:PATH"):
        open_store(address)


def test_a_file_that_is_gone_has_no_snapshot(tmp_path: Path, store: SqliteStore) -> None:
    (tmp_path / "s.db").rename(tmp_path / "moved.db")
    with pytest.raises(StoreBusyError, match="no such file"), store.snapshot():
        pass
