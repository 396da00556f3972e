"""One connection to PostgreSQL that is made anew when it was lost.

Whatever the server cannot do at the moment is a `StoreBusyError`: out of reach, disk full, a
standby, a table that is gone. It is not the fault of what was to be written, and trying again later
loses nothing. Errors of content (a second row under one key) are raised as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, cast

import psycopg
from psycopg import errors

from aggregator.store.errors import StoreBusyError

# The server, too, gives up on who is gone; and a worker that stands still holds nobody up for long.
_SESSION = (
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;"
    " SET idle_in_transaction_session_timeout = '60s'; SET lock_timeout = '60s';"
    " SET client_min_messages = warning;"
    # Tables grow from nothing to millions between two looks of the server at them.
    " SET plan_cache_mode = force_custom_plan; SET enable_seqscan = off"
)
_CONTENT = (errors.IntegrityError, errors.DataError, errors.NotSupportedError)
_PLACES = re.compile(r"\?|%|:([a-z]\w*)")


@lru_cache(maxsize=256)
def translated(query: str) -> str:
    """A statement with places as psycopg writes them.

    >>> translated("SELECT a % ? FROM t WHERE b = :name")
    'SELECT a %% %s FROM t WHERE b = %(name)s'
    """
    return _PLACES.sub(_place, query)


def _place(found: re.Match[str]) -> str:
    if found[1]:
        return f"%({found[1]})s"
    return {"?": "%s", "%": "%%"}[found[0]]


@contextmanager
def busy() -> Iterator[None]:
    """Say of what the server cannot do now that it is busy."""
    try:
        yield
    except _CONTENT:
        raise
    except psycopg.Error as error:
        raise StoreBusyError(" ".join(str(error).split()) or type(error).__name__) from error


class PostgresLink:
    """A connection in autocommit mode; `opened` is called with each new one before its use."""

    def __init__(
        self, options: dict[str, Any], opened: Callable[[psycopg.Connection[Any]], None]
    ) -> None:
        self._options = options
        self._opened = opened
        self._raw: psycopg.Connection[Any] | None = None
        self.inside = False  # a transaction
        self.made = 0  # connections so far

    @property
    def raw(self) -> psycopg.Connection[Any]:
        """The connection; inside a transaction never another one."""
        if self._raw is not None and self._raw.closed and not self.inside:
            self._raw = None
        if self._raw is None:
            self._raw = self._connect()
        return self._raw

    def _connect(self) -> psycopg.Connection[Any]:
        with busy():
            made = psycopg.connect(**self._options, autocommit=True)
        try:
            with busy():
                made.execute(_SESSION)
                self._opened(made)
        except BaseException:
            made.close()
            raise
        self.made += 1
        return made

    def execute(self, query: str, values: Any = (), /) -> psycopg.Cursor[Any]:
        """Run a statement of `aggregator.store.tables.statements`."""
        with busy():
            return self.raw.execute(cast(Any, translated(query)), values)

    def native(self, query: str, values: Any = ()) -> psycopg.Cursor[Any]:
        """Run a statement that only PostgreSQL understands."""
        with busy():
            return self.raw.execute(cast(Any, query), values or None)

    def stream(self, query: str) -> Iterator[Any]:
        """Inside a transaction: an answer that is fetched as it is read."""
        with busy(), self.raw.cursor(name="stream") as cursor:
            cursor.execute(cast(Any, query))
            yield from cursor

    def executemany(self, query: str, rows: Iterable[Any], /) -> psycopg.Cursor[Any]:
        """Run a statement for each of these rows."""
        with busy():
            cursor = self.raw.cursor()
            cursor.executemany(cast(Any, translated(query)), list(rows))
            return cursor

    @contextmanager
    def block(self, begin: str = "BEGIN") -> Iterator[None]:
        """A transaction."""
        self.native(begin)
        self.inside = True
        try:
            yield
            if self.native("COMMIT").statusmessage != "COMMIT":  # something in it had failed
                raise StoreBusyError("the server has taken the transaction back")
        except BaseException:
            with suppress(psycopg.Error):
                self.raw.execute("ROLLBACK")
            raise
        finally:
            self.inside = False

    def close(self) -> None:
        """End the connection, and with it all its locks."""
        if self._raw is not None:
            self._raw.close()
