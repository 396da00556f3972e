"""What the state asks of the tables under it, in a file or in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Tables(Protocol):
    """Rows in the order in which they were put there; whoever asks names values that they have."""

    where: str

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing."""

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        """One more row: values by the names of their columns."""

    def put(self, table: str, row: Mapping[str, Any]) -> None:
        """One more row, in place of the one with the same key."""

    def change(self, table: str, values: Mapping[str, Any], **where: Any) -> None:
        """Other values in the rows that have these."""

    def remove(self, table: str, **where: Any) -> None:
        """No more rows that have these values."""

    def find(self, table: str, columns: Sequence[str], **where: Any) -> list[tuple[Any, ...]]:
        """These columns of the rows that have these values."""

    def each(self, table: str, columns: Sequence[str], **where: Any) -> Iterator[tuple[Any, ...]]:
        """The same, one row at a time."""

    def named(self, table: str, **where: Any) -> list[dict[str, Any]]:
        """All columns of the rows that have these values, by their names."""

    def overwrite(self) -> None:
        """Leave nothing of what was removed."""

    def close(self) -> None:
        """Let go of them."""
