"""Whole batches in one statement each: what the intake does a thousand reports at a time.

New rows are put in the order of their names: two workers with the same reports wait for each other
in one direction only. LATERAL ... LIMIT lets the server look every name up by its key, also while
it knows nothing yet about a new table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from aggregator.store.postgres.link import PostgresLink
from aggregator.store.rows import Counted, Place, ReportRow
from aggregator.store.tables.records import Records
from aggregator.store.tables.reports import REPORT, Reports
from fsir.wire.messages import STAGES

_PAGE = 1000  # reports read at a time
_order = attrgetter("device", "stage", "round")
_columns = attrgetter("device", "stage", "round", "id", "n", "raw", "at")


class Batches(Records, Reports):
    """The part of a store that counts."""

    _db: PostgresLink

    def insert(self, task: int, rows: Iterable[ReportRow]) -> dict[Place, bytes]:
        """Keep counted reports; the ids in those places that another worker has filled."""
        ordered = sorted(rows, key=_order)
        if not ordered:
            return {}
        columns = zip(*map(_columns, ordered), strict=True)
        answer = self._db.native(
            "INSERT INTO report (task, device, stage, round, id, n, raw, at)"
            " SELECT %s, t.* FROM unnest(%b::text[], %b::text[], %b::int4[], %b::bytea[],"
            " %b::int8[], %b::bytea[], %b::float8[]) t"
            " ON CONFLICT DO NOTHING RETURNING device, stage, round",
            (task, *map(list, columns)),
        )
        kept = set(answer.fetchall()) if answer.rowcount < len(ordered) else None
        if kept is None:
            return {}
        missing = [p for r in ordered if (p := (r.device, r.stage, r.round)) not in kept]
        return self.lookup(task, missing)

    def _ids(self, table: str, task: int, places: Sequence[Place]) -> dict[Place, bytes]:
        if not places:
            return {}
        devices, stages, rounds = map(list, zip(*places, strict=True))
        rows = self._db.native(
            "SELECT p.device, p.stage, p.round, r.id"
            " FROM unnest(%b::text[], %b::text[], %b::int4[]) p(device, stage, round)"
            f" CROSS JOIN LATERAL (SELECT t.id FROM {table} t WHERE t.task = %s"
            " AND t.device = p.device AND t.stage = p.stage AND t.round = p.round LIMIT 1) r",
            (devices, stages, rounds, task),
        )
        return {(device, stage, round): id for device, stage, round, id in rows}

    def last(self, task: int, devices: Sequence[str]) -> dict[tuple[str, str], Counted]:
        """The last round that these devices have had counted, by device and stage."""
        rows = self._db.native(
            "SELECT d.device, s.stage, r.round, r.id FROM unnest(%b::text[]) d(device)"
            " CROSS JOIN unnest(%b::text[]) s(stage)"
            " CROSS JOIN LATERAL (SELECT t.round, t.id FROM report t WHERE t.task = %s"
            " AND t.device = d.device AND t.stage = s.stage ORDER BY t.round DESC LIMIT 1) r",
            (list(devices), list(STAGES), task),
        )
        return {(device, stage): Counted(round, id) for device, stage, round, id in rows}

    def reports(self, task: int, stage: str | None = None) -> Iterator[ReportRow]:
        """All reports of a task in the order in which they were counted, page by page."""
        query = (
            f"SELECT seq, {REPORT} FROM report WHERE seq > %s AND task = %s"
            " AND (%s::text IS NULL OR stage = %s::text) ORDER BY seq LIMIT %s"
        )
        names = REPORT.split(", ")
        last = 0
        while page := self._db.native(query, (last, task, stage, stage, _PAGE)).fetchall():
            last = page[-1][0]
            yield from (ReportRow(**dict(zip(names, row[1:], strict=True))) for row in page)

    def hold_instances(self, task: int, devices: Sequence[str]) -> dict[str, bytes]:
        """The numbers that hold, and to the end of the transaction nobody else changes them.

        A device that has none yet gets an empty one, which is locked as any other.
        """
        names = sorted(set(devices))
        self._db.native(
            "INSERT INTO instances SELECT %s, d, ''::bytea FROM unnest(%b::text[]) d"
            " ON CONFLICT DO NOTHING",
            (task, names),
        )
        rows = self._db.native(
            "SELECT device, number FROM instances WHERE task = %s AND device = ANY(%b)"
            " ORDER BY device FOR UPDATE",
            (task, names),
        )
        return {device: number for device, number in rows if number}

    def put_instances(self, task: int, numbers: Mapping[str, bytes]) -> None:
        """Replace the numbers of these devices."""
        names = sorted(numbers)
        self._db.native(
            "INSERT INTO instances SELECT %s, t.* FROM unnest(%b::text[], %b::bytea[]) t"
            " ON CONFLICT (task, device) DO UPDATE SET number = excluded.number",
            (task, names, [numbers[name] for name in names]),
        )
