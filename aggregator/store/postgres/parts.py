"""Totals in parts, one for each worker, so that none waits for another's row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from aggregator.store.postgres.link import PostgresLink
from aggregator.store.rows import RoundRow, TotalsRow
from aggregator.store.tables.rounds import Rounds
from fsir.errors import AccumulatorError

_ROOM = 2**62  # the largest sum of all parts
_NEAR = _ROOM // 64  # with a part above it, it is time to look at the others
_PART = 'SELECT devices, records, change, data AS "values" FROM part'
_OF = "WHERE task = ? AND stage = ? AND round = ?"


class Parts(Rounds):
    """The part of a store that adds up, on several machines."""

    _db: PostgresLink
    _worker: str

    def totals(self, task: int, stage: str, round: int = 1) -> TotalsRow:
        """Merged integers of one round: all parts together."""
        rows = self._rows(TotalsRow, f"{_PART} {_OF} ORDER BY worker", task, stage, round)
        return added(list(rows))

    def put_totals(self, task: int, stage: str, row: TotalsRow, round: int = 1) -> None:
        """Fold all parts of one round into this one; only who is alone may."""
        self._db.execute(f"DELETE FROM part {_OF}", (task, stage, round))
        self._write(task, stage, row, round, "")

    def part(self, task: int, stage: str, round: int = 1) -> TotalsRow:
        """What this worker adds to."""
        query = f"{_PART} {_OF} AND worker = ?"
        return next(self._rows(TotalsRow, query, task, stage, round, self._worker), TotalsRow())

    def put_part(self, task: int, stage: str, row: TotalsRow, round: int = 1) -> None:
        """Replace what this worker adds to."""
        self._write(task, stage, row, round, self._worker)
        values = np.frombuffer(row.values, "<i8")
        if len(values) and max(int(values.max()), -int(values.min())) > _NEAR:
            self.totals(task, stage, round)  # raises when all together are too large

    def _write(self, task: int, stage: str, row: TotalsRow, round: int, worker: str) -> None:
        self._db.execute(
            self._put("part", "task, stage, round, worker, devices, records, change, data", 4),
            (task, stage, round, worker, row.devices, row.records, row.change, row.values),
        )

    def rounds(self, task: int, stage: str) -> list[RoundRow]:
        """What each round has, in their order."""
        query = (
            "SELECT round, CAST(sum(devices) AS bigint) AS devices, CAST(sum(records) AS bigint)"
            " AS records, CAST(sum(change) AS bigint) AS change FROM part"
            " WHERE task = ? AND stage = ? GROUP BY round ORDER BY round"
        )
        return list(self._rows(RoundRow, query, task, stage))


def added(parts: Iterable[TotalsRow]) -> TotalsRow:
    """All parts together, exactly.

    >>> one = TotalsRow(devices=1, records=5, change=1, values=b"\\1" + bytes(7))
    >>> added([one, one]).devices, added([one, one]).values[0], added([])
    (2, 2, TotalsRow(devices=0, records=0, change=0, values=b''))
    """
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    filled = [np.frombuffer(row.values, "<i8").astype(object) for row in parts if row.values]
    sums = sum(filled[1:], filled[0]) if filled else np.zeros(0, object)
    devices = sum(row.devices for row in parts)
    if len(sums) and max(map(abs, sums)) > _ROOM:
        raise AccumulatorError(
            f"the sums of {devices} devices are at the end of 64 bits; start a new epoch"
        )
    return TotalsRow(
        devices=devices,
        records=sum(row.records for row in parts),
        change=sum(row.change for row in parts),
        values=sums.astype("<i8").tobytes(),
    )
