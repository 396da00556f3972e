"""The name of a session: one for each store, for ever; the old one where reports may wait in it."""

from __future__ import annotations

from pathlib import Path

from aggregator.mqtt.client_id import FIRST_NAME, client_id
from aggregator.store.sqlite import SqliteStore
from tests.golden.files import copy_store


def test_every_store_has_its_own_and_keeps_it(tmp_path: Path) -> None:
    names = set()
    for number in range(5):
        store = SqliteStore(tmp_path / f"{number}.db")
        name = client_id(store)
        # Once tasks are served it is not taken for a store of version 0.1.
        store.add_task(b"t" * 32, "test", 1, b"body", 1.0)
        store.close()
        again = SqliteStore(tmp_path / f"{number}.db")
        assert client_id(again) == name
        again.close()
        assert len(name) <= 23  # what every broker takes
        names.add(name)
    assert len(names) == 5


def test_a_store_of_version_0_1_stays_with_its_session(tmp_path: Path) -> None:
    """Reports may wait in it at the broker."""
    store = SqliteStore(copy_store(tmp_path / "old.db"))
    assert client_id(store) == client_id(store) == FIRST_NAME
    store.close()
