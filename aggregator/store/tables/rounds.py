"""What was counted, round by round: merged integers, and which rounds each device has in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from aggregator.store.rows import RoundRow, TotalsRow
from aggregator.store.tables.statements import Statements


class Rounds(Statements):
    """The part of a store that adds up."""

    def totals(self, task: int, stage: str, round: int = 1) -> TotalsRow:
        """Merged integers of one round."""
        query = (
            'SELECT devices, records, change, data AS "values" FROM totals'
            " WHERE task = ? AND stage = ? AND round = ?"
        )
        return next(self._rows(TotalsRow, query, task, stage, round), TotalsRow())

    def put_totals(self, task: int, stage: str, row: TotalsRow, round: int = 1) -> None:
        """Replace the merged integers of one round."""
        self._db.execute(
            self._put("totals", "task, stage, round, devices, records, change, data", 3),
            (task, stage, round, row.devices, row.records, row.change, row.values),
        )

    def part(self, task: int, stage: str, round: int = 1) -> TotalsRow:
        """What this worker adds to: all of it, because it is alone in every transaction."""
        return self.totals(task, stage, round)

    def put_part(self, task: int, stage: str, row: TotalsRow, round: int = 1) -> None:
        """Replace what this worker adds to."""
        self.put_totals(task, stage, row, round)

    def rounds(self, task: int, stage: str) -> list[RoundRow]:
        """What each round has, in their order."""
        query = (
            "SELECT round, devices, records, change FROM totals"
            " WHERE task = ? AND stage = ? ORDER BY round"
        )
        return list(self._rows(RoundRow, query, task, stage))

    # --- sets of rounds -------------------------------------------------------------------------

    def taken(self, task: int, stage: str, devices: Sequence[str]) -> dict[str, str]:
        """The rounds of each of these devices that are in the totals."""
        rows = self._db.execute(
            "SELECT device, rounds FROM taken"
            f" WHERE task = ? AND stage = ? AND device {self.AMONG}",
            (task, stage, self._list(devices)),
        )
        return dict(rows.fetchall())

    def put_taken(self, task: int, stage: str, changes: Mapping[str, tuple[str, str]]) -> None:
        """Replace the rounds of devices, each `(before, after)`, and keep the patterns right."""
        self._db.executemany(
            self._put("taken", "task, stage, device, rounds", 3),
            [(task, stage, device, after) for device, (_, after) in changes.items()],
        )
        moved = Counter(after for _, after in changes.values())
        moved.subtract(Counter(before for before, _ in changes.values()))
        self._db.executemany(
            "INSERT INTO pattern VALUES (?, ?, ?, ?)"
            " ON CONFLICT (task, stage, rounds)"
            " DO UPDATE SET devices = pattern.devices + excluded.devices",
            [(task, stage, rounds, more) for rounds, more in moved.items() if rounds and more],
        )
        # An empty set is that of somebody who has nothing here (any more).
        self._db.executemany(
            "DELETE FROM taken WHERE task = ? AND stage = ? AND device = ? AND rounds = ''",
            [(task, stage, device) for device, (_, after) in changes.items() if not after],
        )
        self._db.executemany(
            "DELETE FROM pattern WHERE task = ? AND stage = ? AND rounds = ? AND devices = 0",
            [(task, stage, rounds) for rounds, more in moved.items() if more < 0],
        )

    def patterns(self, task: int, stage: str) -> dict[str, int]:
        """How many devices have exactly these rounds in the totals."""
        rows = self._db.execute(
            "SELECT rounds, devices FROM pattern WHERE task = ? AND stage = ? ORDER BY rounds",
            (task, stage),
        )
        return dict(rows.fetchall())

    # --- compaction -----------------------------------------------------------------------------

    def compact(self, task: int, stage: str, since: int) -> tuple[int, int]:
        """Drop the bytes of earlier rounds, whose totals and ids stay; how many reports and bytes.

        Of who was withdrawn they are NULL, which has no length.
        """
        full = "task = ? AND stage = ? AND round < ? AND length(raw) > 0"
        reports, dropped = self._db.execute(
            f"SELECT count(*), coalesce(sum(length(raw)), 0) FROM report WHERE {full}",
            (task, stage, since),
        ).fetchone()
        self._db.execute(f"UPDATE report SET raw = ? WHERE {full}", (b"", task, stage, since))
        return int(reports), int(dropped)

    def compacted(self, task: int, stage: str, device: str) -> list[int]:
        """The rounds of a device that the totals alone still have."""
        rows = self._db.execute(
            "SELECT round FROM report"
            " WHERE task = ? AND device = ? AND stage = ? AND length(raw) = 0 ORDER BY round",
            (task, device, stage),
        )
        return [round for (round,) in rows]
