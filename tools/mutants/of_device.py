"""Mistakes of the device: what it votes, keeps, books and holds."""

from __future__ import annotations

from tools.mutants.mutant import mutant

KEPT = "edge_agent/learning/kept.py"
REPORT = "edge_agent/learning/report.py"
STATE = "edge_agent/state/reports.py"
THRESHOLD = "edge_agent/watch/threshold.py"

_VOTES = "private_votes(released, Totals(stage), task.screening.threshold)"
_CCMD = '__import__("fsir.estimate.votes", fromlist=["votes"]).ccmd_votes'
_BOOKED = 'self._db.insert("ledger", row._asdict())'
_JUDGED = 'self._db.insert("ledger", entry)'
_SETTLED = '        said = {"verdict": verdict'
_LATE = """\
        for row in vars(self).pop("late", []):
            self._db.insert("ledger", row)
"""

MUTANTS = (
    mutant(
        "votes from raw data",
        (
            REPORT,
            _VOTES,
            f"{_CCMD}(moments.sums() * stage.grid, moments.counts(), moments.n, "
            "task.screening.threshold)",
        ),
    ),
    mutant(
        "votes from noisy sums and raw counts",
        (
            REPORT,
            _VOTES,
            f"{_CCMD}((sums := Totals(stage)).add(released) or sums.sums(), moments.counts(), "
            "moments.n, task.screening.threshold)",
        ),
    ),
    mutant(
        "clip skipped for rows kept on disk",
        (KEPT, "moments.add_quantised(", "moments._sums.add("),
    ),
    mutant("ledger row not written", (STATE, _BOOKED, "pass")),
    mutant(
        "ledger row written after the send",
        (STATE, _BOOKED, 'vars(self).setdefault("late", []).append(row._asdict())'),
        (STATE, _SETTLED, _LATE + _SETTLED),
    ),
    mutant("report held without noise", (THRESHOLD, "self.sd, step)[0]", "0.0, step)[0]")),
    mutant("decision to hold not booked", (STATE, _JUDGED, "pass")),
)
