"""The tables of a store: made, brought up to date, or found wanting."""

from __future__ import annotations

from aggregator.store.errors import StoreError
from aggregator.store.postgres.link import PostgresLink
from aggregator.store.postgres.schema import STEPS, TABLES
from aggregator.store.postgres.workers import LOCK

_FORMAT = "CREATE TABLE IF NOT EXISTS format (number integer NOT NULL)"


def prepare(db: PostgresLink, update: bool) -> None:
    """Make the tables that are missing, if the store is to be written; else say so."""
    found = _format(db)
    if found > len(STEPS):
        raise StoreError(
            f"format {found}, this program reads up to {len(STEPS)}; use its own version"
        )
    if found < len(STEPS):
        if not update:
            raise StoreError(
                "there is no store of this format; start `serve` with this --store, once"
            )
        _take_steps(db)
    _check(db)


def _format(db: PostgresLink) -> int:
    if not _there(db, "format"):
        return 0
    row = db.native("SELECT max(number) FROM format").fetchone()
    return int(row[0] or 0) if row else 0


def _take_steps(db: PostgresLink) -> None:
    """Alone: another worker may have been faster."""
    with db.block():
        db.native(f"SELECT pg_advisory_xact_lock({LOCK})", ("store",))
        db.native(_FORMAT)
        found = _format(db)
        for number, step in enumerate(STEPS[found:], found + 1):
            db.native(step)
            db.native("INSERT INTO format VALUES (%s)", (number,))


def _check(db: PostgresLink) -> None:
    missing = [name for name in TABLES if not _there(db, name)]
    if missing:
        raise StoreError(f"table {missing[0]!r} is missing; restore the store from a backup")


def _there(db: PostgresLink, name: str) -> bool:
    query = "SELECT to_regclass(quote_ident(current_schema()) || '.' || %s::text) IS NOT NULL"
    row = db.native(query, (name,)).fetchone()
    return bool(row and row[0])
