"""The address of a store in PostgreSQL: without secrets, with a bound on every wait."""

from __future__ import annotations

from typing import Any

from aggregator.store.errors import StoreError

_SECRETS = ("password", "sslpassword")
# How soon a connection is known to be lost, whoever has lost it.
_PATIENCE: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "fsir-aggregator",
}
REMEDY = (
    "give the password in the file that PGPASSFILE names (~/.pgpass), "
    "or the login in a service file (postgresql:///?service=NAME)"
)


def options_of(address: str) -> dict[str, Any]:
    """What to connect with."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise StoreError(
            f"store {shown(address)}: psycopg is not installed; "
            "install it: pip install 'fsir-edge[aggregator,postgres]'"
        ) from None
    try:
        given = conninfo_to_dict(address)
    except ProgrammingError:  # its text may have the password
        raise StoreError(
            f"store {shown(address)}: not an address that PostgreSQL understands; "
            "an example is postgresql://db.example/fsir"
        ) from None
    if any(given.get(name) for name in _SECRETS):
        raise StoreError(
            f"store {shown(address)}: a password on the command line can be read by everybody on "
            f"this machine; {REMEDY}"
        )
    return _PATIENCE | given


def shown(address: str) -> str:
    """An address that may be printed.

    >>> shown("postgresql://me:secret@db/fsir?password=secret")
    'postgresql://db/fsir'
    """
    scheme, _, rest = address.partition("//")
    return f"{scheme}//{rest.partition('?')[0].rpartition('@')[2]}"
