"""What a device has released and still has to send.

A report, its ledger row and its outbox row are one transaction, and so are a hold and its row: what
may be seen is booked before it can be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from edge_agent.state.holds import Hold
from edge_agent.state.learned import Learned
from edge_agent.state.rows import Answers, LedgerRow, OutboxRow, Progress

REFUSED = "refused:"  # of a task: no task has a name with a colon
_ANSWERS = "answers:"  # about a report, of whichever of two aggregators has spoken


class Reports(Learned):
    """A state file, as far as releases are concerned."""

    def record_report(
        self,
        row: LedgerRow,
        out: OutboxRow | None,
        progress: Progress,
        *,
        drop_kept: bool,
        judged: LedgerRow | None = None,
        refused: Mapping[str, int] | None = None,
        key: bytes = b"",
    ) -> None:
        """Spend: ledger, outbox and progress in one transaction.

        Only after this may the report be sent. One that will not be sent is spent all the same, and
        so is the judgement that it was not to be held. `refused` stays for its owner's eyes, and
        the `key` for the noise of later rounds; without one there are none.
        """
        with self._db.transaction():
            if judged is not None:
                self._book(judged)
            self._db.insert("ledger", row._asdict())
            if out is not None:
                self._db.insert("outbox", out._asdict())
            self._save(row.task, progress, (), drop_kept=drop_kept)
            self._keep_refused(row.task, refused or {})
            if key:
                self.keys.put(row.digest, key)
            elif row.is_correlated:
                self.keys.drop(row.digest)

    def record_hold(self, row: LedgerRow, hold: Hold, progress: Progress) -> None:
        """Hold a report back, with what it is about: only after this may its absence be seen."""
        with self._db.transaction():
            self._book(row)
            self._save(row.task, progress, (), drop_kept=False)
            self.holds.put(row.task, hold)

    def _book(self, row: LedgerRow) -> None:
        entry = row._asdict()
        self._db.insert("ledger", entry)

    def _keep_refused(self, name: str, refused: Mapping[str, int]) -> None:
        key = f"{REFUSED}{name}"
        self._db.remove("meta", key=key)
        if refused:
            self._db.insert("meta", {"key": key, "value": json.dumps(dict(refused))})

    def refused(self, name: str) -> dict[str, int]:
        """Records that were not accepted for the last report of a task, by reason."""
        rows = self._db.find("meta", ("value",), key=f"{REFUSED}{name}")
        return next((json.loads(text) for (text,) in rows), {})

    def ledger(self, digest: bytes | None = None) -> list[LedgerRow]:
        """Every release of this device, across all its tasks, or those of one task."""
        # All columns: a file of version 1 that is only looked at lacks those that have defaults.
        wanted = {} if digest is None else {"digest": digest}
        return [LedgerRow(**row) for row in self._db.named("ledger", **wanted)]

    def has_reported(self, source: str) -> bool:
        """Whether records of a source are in some report: then it cannot be rewound."""
        return any(row.is_report and row.source == source for row in self.ledger())

    def outbox(self, task: str | None = None) -> list[OutboxRow]:
        """Reports without a receipt."""
        wanted = {} if task is None else {"task": task}
        return [OutboxRow(**row) for row in self._db.named("outbox", **wanted)]

    def answers(self, report: bytes) -> Answers:
        """What was said about a report while not everybody has answered, by who has said it."""
        rows = self._db.find("meta", ("value",), key=f"{_ANSWERS}{report.hex()}")
        told = [json.loads(text) for (text,) in rows]
        return {role: tuple(said) for one in told for role, said in one.items()}

    def keep_answers(self, report: bytes, answers: Answers) -> None:
        """Remember it until the report is settled."""
        row = {"key": f"{_ANSWERS}{report.hex()}", "value": json.dumps(dict(answers))}
        with self._db.transaction():
            self._db.put("meta", row)

    def settle(self, report: bytes, verdict: str, reason: str) -> None:
        """All is answered: clear the outbox, note the verdict in the ledger."""
        said = {"verdict": verdict, "reason": reason}
        with self._db.transaction():
            self._db.remove("outbox", report=report)
            self._db.remove("meta", key=f"{_ANSWERS}{report.hex()}")
            self._db.change("ledger", said, report=report)
