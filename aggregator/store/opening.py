"""A store by its address."""

from __future__ import annotations

from aggregator.store.base import Store
from aggregator.store.errors import StoreError
from aggregator.store.sqlite import SqliteStore


def open_store(address: str, *, create: bool = True, update: bool = False) -> Store:
    """The store at an address such as `sqlite:/var/lib/fsir/store.db`.

    One that is not created must exist; it is read as it is, or brought up to date first.
    """
    kind, separator, path = address.partition(":")
    if kind in ("postgresql", "postgres") and path.startswith("//"):
        # Only such stores need `psycopg`.
        from aggregator.store.postgres.store import PostgresStore

        return PostgresStore(address, create=create, update=update)
    if kind != "sqlite" or not separator or not path:
        raise StoreError(
            f"store {address!r}: an address is sqlite:PATH, for example sqlite:fsir.db, "
            "or postgresql://HOST/NAME"
        )
    return SqliteStore(path, create=create, update=update)
