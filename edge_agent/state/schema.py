"""The tables of the state file, and whose it is."""

from __future__ import annotations

from typing import NamedTuple

from edge_agent.errors import StateError
from edge_agent.state.database import FILE, Storage

VERSION = 2
# SQLite keeps the text of each statement in the file: these bytes are part of the format.
SCHEMA = """\
CREATE TABLE meta (key TEXT PRIMARY KEY, value);
CREATE TABLE tasks (name TEXT PRIMARY KEY, raw BLOB NOT NULL, source TEXT NOT NULL, \
active TEXT, subspace BLOB,
    stopped TEXT NOT NULL DEFAULT '', first INTEGER, last INTEGER, learned BLOB, \
stream TEXT NOT NULL DEFAULT '');
CREATE TABLE positions (task TEXT, source TEXT, ordinal INTEGER NOT NULL, cursor TEXT, \
PRIMARY KEY (task, source));
CREATE TABLE kept (id INTEGER PRIMARY KEY, task TEXT NOT NULL, n INTEGER NOT NULL, K BLOB, \
slices BLOB);
CREATE TABLE ledger (task TEXT NOT NULL, digest BLOB NOT NULL, stage TEXT NOT NULL, \
mechanism TEXT NOT NULL,
    mu REAL NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL, numbers INTEGER NOT NULL, \
n INTEGER NOT NULL,
    source TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, made REAL NOT NULL, \
report BLOB NOT NULL,
    verdict TEXT NOT NULL, reason TEXT NOT NULL, unit_records INTEGER NOT NULL DEFAULT 1,
    round INTEGER NOT NULL DEFAULT 1, UNIQUE (digest, stage, round));
CREATE TABLE outbox (report BLOB PRIMARY KEY, task TEXT NOT NULL, stage TEXT NOT NULL, \
topic TEXT NOT NULL,
    payload BLOB NOT NULL, not_before REAL NOT NULL);
"""


# What makes a file of version 1 one of version 2. Nothing is lost, and what is new has its default.
_FROM_1 = (
    "ALTER TABLE tasks ADD COLUMN stream TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE ledger RENAME TO ledger_1",
    next(one for one in SCHEMA.split(";\n") if one.startswith("CREATE TABLE ledger")),
    "INSERT INTO ledger SELECT *, 1, 1 FROM ledger_1 ORDER BY rowid",
    "DROP TABLE ledger_1",
    f"PRAGMA user_version = {VERSION}",
)


class Owner(NamedTuple):
    """Whose state it is, and whether its noise is that of a simulation."""

    device: str
    simulated: bool


def owner_of(db: Storage, asking: Owner, read_only: bool, broker: str | None = None) -> Owner:
    """Whose state this is; a file that is new becomes that of whoever asks.

    Who asks without a device's name only looks or forgets, and takes it as it is.
    """
    ((version,),) = db.rows("PRAGMA user_version")
    if version == 0 and asking.device and not read_only:
        _create(db, asking, broker)
    elif version == 0:
        raise StateError(
            f"{db.where}: {FILE} is not the state of an agent; give the directory of one"
        )
    elif version == 1 and not read_only:  # who only looks reads it as it is
        with db.transaction():
            for statement in _FROM_1:
                db.run(statement)
    elif version > VERSION:
        raise StateError(
            f"{db.where}: state of version {version}, this program reads {VERSION}; update it"
        )
    meta = dict(db.find("meta", ("key", "value")))
    owner = Owner(str(meta["device"]), bool(meta["simulated"]))
    if asking.device:
        _check(db.where, owner, asking)
    return owner


def _create(db: Storage, owner: Owner, broker: str | None) -> None:
    with db.transaction():
        for statement in SCHEMA.split(";"):
            db.run(statement)
        db.insert("meta", {"key": "device", "value": owner.device})
        db.insert("meta", {"key": "simulated", "value": int(owner.simulated)})
        if broker is not None:
            db.insert("meta", {"key": "broker", "value": broker})
        db.run(f"PRAGMA user_version = {VERSION}")


def _check(where: str, owner: Owner, asking: Owner) -> None:
    if owner.device != asking.device:
        raise StateError(
            f"{where} belongs to device {owner.device!r}, not to {asking.device!r}: "
            "one directory per device, because the ledger is the device's"
        )
    if owner.simulated != asking.simulated:
        kind = "simulated" if owner.simulated else "real"
        raise StateError(
            f"{where} was made by a {kind} agent, whose noise is of another kind; use another"
        )
