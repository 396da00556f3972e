"""How the estimate of each task has grown: one short row for each version of the subspace."""

from __future__ import annotations

from aggregator.store.rows import VersionRow
from aggregator.store.tables.statements import Statements

_VERSION = (
    "version, at, devices, records, dimension, expected_error, expected_accuracy, angle,"
    " forecast_error, forecast_accuracy, round, moved, drift"
)


class History(Statements):
    """The part of a store that remembers versions and arrivals."""

    def put_version(self, task: int, row: VersionRow) -> None:
        """Remember a version."""
        self._db.execute(
            self._put("version", f"task, {_VERSION}", 2),
            (
                task,
                row.version,
                row.at,
                row.devices,
                row.records,
                row.dimension,
                row.expected_error,
                row.expected_accuracy,
                row.angle,
                row.forecast_error,
                row.forecast_accuracy,
                row.round,
                row.moved,
                row.drift,
            ),
        )

    def versions(self, task: int, most: int) -> list[VersionRow]:
        """The versions of a task, oldest first; of more than `most` the newest half, and others.

        The others lie at equal distances: a curve through them looks like that through all.
        """
        newest = self._newest(task)
        step = max(1, -(-2 * newest // most))  # half of what is shown reaches back to the first
        query = (
            f"SELECT {_VERSION} FROM version"
            " WHERE task = ? AND (version > ? OR version % ? = 1 % ?) ORDER BY version"
        )
        recent = newest - most // 2
        return list(self._rows(VersionRow, query, task, recent, step, step))

    def _newest(self, task: int) -> int:
        (newest,) = self._db.execute(
            "SELECT coalesce(max(version), 0) FROM version WHERE task = ?", (task,)
        ).fetchone()
        return int(newest)

    def arrivals(self, task: int, stage: str, limit: int) -> list[float]:
        """When the newest reports of a stage were counted, the newest first."""
        rows = self._db.execute(
            "SELECT at FROM report WHERE task = ? AND stage = ? ORDER BY at DESC LIMIT ?",
            (task, stage, limit),
        )
        return [at for (at,) in rows]

    def arrived_since(self, task: int, stage: str, at: float) -> int:
        """How many reports of a stage were counted after an instant."""
        (count,) = self._db.execute(
            "SELECT count(*) FROM report WHERE task = ? AND stage = ? AND at > ?",
            (task, stage, at),
        ).fetchone()
        return int(count)
