"""Sealed reports and cohorts, where two aggregators open sums: every statement about their tables.

The bytes of a counted report are our share of it, which waits as long as it stands in `share`. When
its sum is opened they are dropped, and its id stands in `opened` for good: the key of that table is
what no cohort can get around.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aggregator.store.sealed import OPENED, PENDING, CohortRow, Pool, ShareRow
from aggregator.store.tables.statements import Statements

_AT = 'task = ? AND stage = ? AND round = ? AND "group" = ?'
_WITH_REPORT = (
    "share s JOIN report r ON"
    " r.task = s.task AND r.device = s.device AND r.stage = s.stage AND r.round = s.round"
)


class Shares(Statements):
    """The part of a store that keeps shares and cohorts."""

    # --- shares -----------------------------------------------------------------------------------

    def put_shares(self, task: int, rows: Iterable[ShareRow]) -> None:
        """Keep shares; of a report that was opened before nothing is kept again."""
        self._db.executemany(
            'INSERT INTO share (task, id, device, stage, round, "group", proposed)'
            " SELECT ?, ?, ?, ?, ?, ?, 0"
            " WHERE NOT EXISTS (SELECT 1 FROM opened WHERE task = ? AND id = ?)",
            [(task, row.id, row.device, *row.pool, task, row.id) for row in rows],
        )

    def waiting_shares(self, task: int) -> dict[Pool, int]:
        """How many reports wait, pool by pool."""
        rows = self._db.execute(
            'SELECT stage, round, "group", count(*) FROM share WHERE task = ?'
            ' GROUP BY stage, round, "group" ORDER BY stage, round, "group"',
            (task,),
        )
        return {Pool(stage, round, group): count for stage, round, group, count in rows}

    def share_ids(self, task: int, pool: Pool, most: int = -1) -> list[bytes]:
        """The ids that wait in a pool, the oldest first."""
        rows = self._db.execute(
            f"SELECT id FROM share WHERE {_AT} ORDER BY seq LIMIT ?",
            (task, *pool, self._most(most)),
        )
        return [id for (id,) in rows]

    def payloads(self, task: int, ids: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Records and share of these reports, all of which wait."""
        query = f"SELECT r.n, r.raw FROM {_WITH_REPORT} WHERE s.task = ? AND s.id = ?"
        for id in ids:
            yield self._db.execute(query, (task, id)).fetchone()

    def share_places(self, task: int, ids: Iterable[bytes]) -> list[tuple[str, str, int]]:
        """Device, stage and round of these reports, all of which wait."""
        query = "SELECT device, stage, round FROM share WHERE task = ? AND id = ?"
        return [self._db.execute(query, (task, id)).fetchone() for id in ids]

    def mark_proposed(self, task: int, ids: Iterable[bytes]) -> None:
        """Note that the other aggregator may open these."""
        self._db.executemany(
            "UPDATE share SET proposed = 1 WHERE task = ? AND id = ?", [(task, id) for id in ids]
        )

    def shares_of(self, task: int, device: str) -> list[tuple[bytes, bool]]:
        """What waits of a device: ids, and whether the other aggregator may open them already."""
        rows = self._db.execute(
            "SELECT id, proposed FROM share WHERE task = ? AND device = ?", (task, device)
        )
        return [(id, bool(proposed)) for id, proposed in rows]

    def delete_shares(self, task: int, device: str) -> None:
        """Forget what waits of a device."""
        self._db.execute("DELETE FROM share WHERE task = ? AND device = ?", (task, device))

    # --- cohorts ----------------------------------------------------------------------------------

    def cohort(self, task: int, pool: Pool, number: int) -> CohortRow | None:
        """One cohort, if it is known."""
        return next(self._cohorts(f"{_AT} AND number = ?", task, *pool, number), None)

    def cohorts(self, task: int) -> list[CohortRow]:
        """All cohorts of a task, in the order in which they were begun."""
        return list(self._cohorts("task = ?", task))

    def opened_cohorts(self, task: int, stage: str) -> Iterator[CohortRow]:
        """The cohorts of a stage that were opened."""
        return self._cohorts("task = ? AND stage = ? AND state = ?", task, stage, OPENED)

    def _cohorts(self, where: str, *values: object) -> Iterator[CohortRow]:
        rows = self._db.execute(
            'SELECT stage, round, "group", number, state, at, devices, records, own, other, answer'
            f" FROM cohort WHERE {where} ORDER BY key",
            values,
        )
        for stage, round, group, number, state, at, devices, records, own, other, answer in rows:
            yield CohortRow(
                pool=Pool(stage, round, group),
                number=number,
                state=state,
                at=at,
                devices=devices,
                records=records,
                own=own,
                other=other,
                answer=answer,
            )

    def last_cohorts(self, task: int) -> dict[Pool, tuple[int, bool]]:
        """In each pool the number of the last cohort, and whether it is pending."""
        rows = self._db.execute(
            'SELECT stage, round, "group", number, state FROM cohort c WHERE task = ?'
            " AND NOT EXISTS (SELECT 1 FROM cohort q WHERE q.task = c.task AND q.stage = c.stage"
            ' AND q.round = c.round AND q."group" = c."group" AND q.number > c.number)'
            ' ORDER BY stage, round, "group"',
            (task,),
        )
        return {Pool(*pool): (number, state == PENDING) for *pool, number, state in rows}

    def put_cohort(self, task: int, row: CohortRow) -> None:
        """Add a cohort, or replace one that was pending."""
        heading = (task, *row.pool, row.number)
        self._db.execute(
            f"DELETE FROM cohort WHERE {_AT} AND number = ? AND state = ?", (*heading, PENDING)
        )
        self._db.execute(
            'INSERT INTO cohort (task, stage, round, "group", number, state, at, devices, records,'
            " own, other, answer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*heading, row.state, row.at, row.devices, row.records, row.own, row.other, row.answer),
        )

    def close_cohort(self, task: int, row: CohortRow, ids: Iterable[bytes]) -> None:
        """Keep a cohort that is decided, note its ids as opened, and delete their shares.

        Whatever else was proposed with it may be withdrawn again.
        """
        self.put_cohort(task, row)
        named = [(row.number, task, id) for id in ids]
        self._db.executemany(
            "INSERT INTO opened (task, id, device, stage, round, number)"
            " SELECT task, id, device, stage, round, ? FROM share WHERE task = ? AND id = ?",
            named,
        )
        self._db.executemany(
            "UPDATE report SET raw = ? WHERE seq ="
            f" (SELECT r.seq FROM {_WITH_REPORT} WHERE s.task = ? AND s.id = ?)",
            [(b"", *n[1:]) for n in named],
        )
        self._db.executemany("DELETE FROM share WHERE task = ? AND id = ?", [n[1:] for n in named])
        self._db.execute(f"UPDATE share SET proposed = 0 WHERE {_AT}", (task, *row.pool))

    def opened_of(self, task: int, device: str) -> int:
        """How many reports of a device were opened."""
        query = "SELECT count(*) FROM opened WHERE task = ? AND device = ?"
        return int(self._one(query, task, device))

    # --- noise ------------------------------------------------------------------------------------

    def noise_key(self, task: int, pool: Pool, number: int) -> bytes:
        """The key of the noise that cohorts of this number have in common over rounds; or b""."""
        row = self._db.execute(
            'SELECT key FROM noise_key WHERE task = ? AND stage = ? AND "group" = ? AND number = ?',
            (task, pool.stage, pool.group, number),
        ).fetchone()
        return b"" if row is None else bytes(row[0])

    def put_noise_key(self, task: int, pool: Pool, number: int, key: bytes) -> None:
        """Keep such a key, which grows with the rounds."""
        self._db.execute(
            self._put("noise_key", 'task, stage, "group", number, key', 4),
            (task, pool.stage, pool.group, number, key),
        )
