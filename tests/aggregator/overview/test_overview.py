"""One dictionary for each task: everything that was there before, and more; plain JSON."""

from __future__ import annotations

import json
from pathlib import Path

from aggregator.federation import stored
from aggregator.overview.overview import overview
from aggregator.store.sqlite import SqliteStore
from tests.aggregator.batches import deliver, started
from tests.aggregator.federations import make_task, screening_task, topic
from tests.golden.files import copy_store

TASK = make_task(p=3, records=60)
# What version 0.1 printed.
FIRST_KEYS = {
    *("task", "epoch", "digest", "stages", "active", "subspace", "refused", "withdrawn"),
}
ALL_KEYS = FIRST_KEYS | {
    *("now", "progress", "history", "forecast", "directions", "classes", "devices", "refusals"),
}


def test_everything_is_there_at_every_moment_and_can_be_written_as_json(tmp_path: Path) -> None:
    task = screening_task(quorum=3)
    made = started(tmp_path / "s.db", task, debounce=0.0)
    federation = made.federations[task.name]

    def looked() -> dict[str, object]:
        found = overview(made.store, federation, 100.0)
        assert set(found) == ALL_KEYS
        assert json.loads(json.dumps(found)) == found
        return found

    first = looked()
    assert (first["subspace"], first["active"], first["history"]) == (None, None, [])
    deliver(made, task, range(3))
    made.jobs(1.0)
    assert looked()["active"]
    assert looked()["stages"] == {
        "screening": {"devices": 3, "records": 600},
        "final": {"devices": 0, "records": 0},
    }


def test_the_numbers_are_those_of_the_store(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    deliver(made, TASK, range(4), 10.0)
    made.take(topic(TASK, "d9"), b"garbage")
    made.commit(11.0)
    made.estimate(12.0)
    made.withdraw("d3", 13.0)
    made.estimate(14.0)
    found = overview(made.store, made.federations["test"], 20.0, recount=True)
    assert found["stages"] == {"final": {"devices": 3, "records": 180, "recount": True}}
    assert found["refused"] == {"malformed": 1}
    assert [entry["device"] for entry in found["refusals"]] == ["d9"]
    assert found["withdrawn"] == found["devices"]["withdrawn"] == 1
    assert [version["devices"] for version in found["history"]] == [4, 3]
    assert found["subspace"]["version"] == found["history"][-1]["version"] == 2
    assert found["forecast"]["devices"] == 6
    assert len(found["directions"]["features"]) == 3
    assert len(found["classes"]["centres"]) == 3


def test_a_store_of_version_0_1_has_an_overview_without_being_changed(tmp_path: Path) -> None:
    path = copy_store(tmp_path / "old.db")
    before = path.read_bytes()
    store = SqliteStore(path, create=False)
    for row in store.tasks():
        found = overview(store, stored(store, row), 2e9)
        assert set(found) == ALL_KEYS
        assert [version["version"] for version in found["history"]] == [
            found["subspace"]["version"]
        ]
        assert found["forecast"] is None
        assert found["devices"]["reported"] == 4
    store.close()
    assert path.read_bytes() == before
