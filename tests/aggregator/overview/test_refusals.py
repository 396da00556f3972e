"""What a stranger has chosen is shown harmlessly, and only so much of it."""

from __future__ import annotations

from pathlib import Path

from aggregator.overview.refusals import NEWEST, counts, newest
from aggregator.store.rows import RefusedRow
from tests.aggregator.batches import started
from tests.aggregator.federations import make_task

TASK = make_task(p=3, records=60)


def row(task: str, number: int) -> RefusedRow:
    return RefusedRow(
        task=task,
        device=f"d{number}\x1b[2J<script>" + "x" * 200,
        stage="final",
        id=b"",
        reason="malformed",
        detail="malformed: \x00\n\u202e" + "y" * 1000,
        length=1,
        raw=b"\x1b",
        at=float(number),
    )


def test_the_newest_of_this_task_alone_in_printable_words(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK)
    with made.store.transaction():
        made.store.refuse([row("test", i) for i in range(15)] + [row("other", 99)])
    found = newest(made.store, "test")
    assert [entry["at"][-8:-6] for entry in found] == [f"{i:02d}" for i in range(14, 4, -1)]
    assert len(found) == NEWEST
    for entry in found:
        assert entry["device"].isprintable()
        assert entry["text"].isprintable()
        assert len(entry["device"]) <= 64
        assert len(entry["text"]) <= 160
        assert entry["meaning"].startswith("the bytes are not a report")
    assert counts(made.store, "test") == {"malformed": 15}
