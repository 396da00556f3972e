"""What all engines of a store have in common: statements that each of them understands.

The parts of a store write their statements once, with `?` or `:name` where a value goes. What
engines say differently is named here, and said by each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol, TypeVar

Row = TypeVar("Row")


class Answer(Protocol):
    """The answer to a statement."""

    @property
    def rowcount(self) -> int: ...
    @property
    def description(self) -> Any: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Link(Protocol):
    """An open connection to an engine."""

    def execute(self, query: str, values: Any = ..., /) -> Answer: ...
    def executemany(self, query: str, rows: Iterable[Any], /) -> Answer: ...


class Statements:
    """A part of a store, on any engine."""

    AMONG: ClassVar[str]  # how to say that a column is one of `_list(names)`
    NO_LIMIT: ClassVar[int | None]
    _db: Link

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, alone."""
        raise NotImplementedError

    def _list(self, names: Sequence[str]) -> object:
        """Names as one value."""
        raise NotImplementedError

    def _most(self, limit: int) -> int | None:
        """A limit as a value; -1 is none."""
        return limit if limit >= 0 else self.NO_LIMIT

    def _put(self, table: str, columns: str, keys: int) -> str:
        """The statement that adds a row, or replaces that with the same first `keys` columns."""
        raise NotImplementedError

    def _one(self, query: str, *values: object) -> Any:
        """The only value of the only row."""
        return self._db.execute(query, values).fetchone()[0]

    def _rows(self, kind: Callable[..., Row], query: str, *values: Any) -> Iterator[Row]:
        """The answer to a query as objects whose fields are named like the columns."""
        answer = self._db.execute(query, values)
        names = [column[0] for column in answer.description]
        return (kind(**dict(zip(names, row, strict=True))) for row in answer)
