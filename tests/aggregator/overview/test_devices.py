"""Each device is in one state, counts agree with the names, and pages follow each other."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aggregator.overview.devices import about, counts, names, page
from fsir.privacy.plan import final_stage
from fsir.wire.messages import Ask, encode
from fsir.wire.messages import topic as topic_of
from tests.aggregator.batches import deliver, started
from tests.aggregator.federations import make_task, report, screening_task, topic

TASK = make_task(p=3, records=60)
NAMES = [f"d{i}" for i in range(8)]
some = st.sets(st.sampled_from(NAMES))


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(asked=some, reported=some, withdrawn=some, roster=some)
def test_every_device_is_in_the_state_that_its_history_gives(
    tmp_path_factory, asked: set[str], reported: set[str], withdrawn: set[str], roster: set[str]
) -> None:
    made = started(tmp_path_factory.mktemp("states") / "s.db", TASK)
    for name in sorted(asked):
        ask = encode(Ask(TASK.digest, name, name.encode() * 8))
        made.take(topic_of("test", "ask", name), ask)
    for name in sorted(reported):
        made.take(topic(TASK, name), report(TASK, name, int(name[1:])))
    made.commit(1.0)
    for name in sorted(withdrawn):
        made.withdraw(name, 2.0)
    made.store.enrol("test", roster, 3.0)
    federation = made.federations["test"]
    found = counts(made.store, federation)
    named = names(made.store, federation, found)
    wanted = {
        "reported": reported - withdrawn,
        "waiting": asked - reported - withdrawn,
        "silent": roster - asked - reported - withdrawn,
        "withdrawn": withdrawn,
        "unlisted": reported - withdrawn - roster if roster else set(),
    }
    assert {state: found[state] for state in wanted} == {s: len(n) for s, n in wanted.items()}
    assert found["roster"] == len(roster)
    for state in named:
        assert named[state] == sorted(wanted[state])
    assert found["expected"] == len(roster - withdrawn)
    assert found["missing"] == len(roster - reported - withdrawn)
    missing = made.store.list_devices(about(federation), "missing", 100)
    assert missing == sorted(roster - reported - withdrawn)
    made.store.close()


def test_between_two_stages_a_device_waits(tmp_path: Path) -> None:
    task = screening_task(quorum=2)
    made = started(tmp_path / "s.db", task)
    deliver(made, task, range(2))
    made.jobs(1.0)
    federation = made.federations[task.name]
    assert page(made.store, federation, "waiting")["names"] == ["d0", "d1"]
    features = federation.layouts["final"].stage.features
    made.take(topic(task, "d1"), report(task, "d1", 5, final_stage(task, features)))
    made.commit(2.0)
    assert counts(made.store, federation)["reported"] == 1
    assert page(made.store, federation, "waiting")["names"] == ["d0"]


def test_pages_follow_each_other_and_hold_every_name_once(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", TASK)
    deliver(made, TASK, range(7))
    federation = made.federations["test"]
    found_names = []
    after: str | None = ""
    while after is not None:
        found = page(made.store, federation, "reported", after=after, limit=3)
        assert len(found["names"]) <= 3
        found_names += found["names"]
        after = found["next"]
    assert found_names == [f"d{i}" for i in range(7)]
    assert page(made.store, federation, "reported", limit=7)["next"] is None
    assert page(made.store, federation, "silent") == {"state": "silent", "names": [], "next": None}
