"""A state directory of version 0.1 is understood and continued, and is made the same today."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack
import pytest

from edge_agent.agent import Phase
from edge_agent.state.schema import VERSION
from edge_agent.state.state import State
from tests.golden.federation.device import Clock, Device, on_disk
from tests.golden.federation.states import served, summary
from tests.golden.federation.tasks import LONG
from tests.golden.files import (
    LABELS,
    MOMENTS,
    STATE_FILE,
    STATES,
    Message,
    alike,
    copy_state,
    dump,
    of_kind,
    rows_of,
    wire_of,
)

DEVICE = "dev-1"
NAMES = [task.name for task in LONG]
WIRE = [message for name in NAMES for message in wire_of(name)]


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def without_recognition(path: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows without the blobs of recognition, which hold numbers from linear algebra.

    What was refused is counted: a line that is no record has another reason by now, and its number
    outlives the report. What the records look like was not counted. Of a cursor the place of the
    line is compared: version 0.1 does not note the header beside it.
    """
    rows = rows_of(path)
    for row in rows["positions"]:
        row["cursor"] = json.loads(row["cursor"])[:3]
    newer = ("recognition:", "refused:")
    rows["meta"] = [row for row in rows["meta"] if not row["key"].startswith(newer)]
    for row in rows["tasks"]:
        learned = {} if row["learned"] is None else msgpack.unpackb(row["learned"])
        learned.pop("watch", None)
        row["learned"] = learned | {"refused": sum(learned.get("refused", {}).values())}
    return rows


def recognition_of(directory: Path) -> dict[str, Any]:
    """What recognition has learned, task by task."""
    state = State(directory, None, read_only=True)
    found = {pin.name: state.recognition(pin.name) for pin in state.pins()}
    state.close()
    return {name: raw and msgpack.unpackb(raw) for name, raw in found.items()}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_state_says_what_it_said(moment: str, tmp_path: Path) -> None:
    """Phase, position, ledger, outbox, notes and labels are read as they were written."""
    found = json.loads(json.dumps(summary(copy_state(moment, tmp_path / "state"))))
    assert alike(found, read_json(STATES / f"{moment}.json"))


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_state_is_not_changed_by_being_opened(moment: str, tmp_path: Path) -> None:
    """Whoever starts an agent and stops it finds the same content, in the tables of today."""
    directory = copy_state(moment, tmp_path / "state")
    summary(directory)
    assert rows_of(directory / STATE_FILE) == rows_of(STATES / moment / STATE_FILE)
    opened = dump(directory / STATE_FILE)
    assert opened[0] == VERSION
    summary(directory)
    assert dump(directory / STATE_FILE) == opened


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_state_can_be_looked_at_as_it_is(moment: str, tmp_path: Path) -> None:
    """Who only looks changes nothing, and sees the ledger that is there."""
    directory = copy_state(moment, tmp_path / "state")
    state = State(directory, None, read_only=True)
    seen = [row.report.hex() for row in state.ledger()]
    state.close()
    assert seen == [row["report"] for row in read_json(STATES / f"{moment}.json")["ledger"]]
    assert dump(directory / STATE_FILE) == dump(STATES / moment / STATE_FILE)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_state_is_made_the_same_today(moment: str, played) -> None:
    """The rows are the golden ones."""
    made = played.folder / "states" / moment
    assert without_recognition(made / STATE_FILE) == without_recognition(
        STATES / moment / STATE_FILE
    )


@pytest.mark.parametrize("moment", MOMENTS)
def test_recognition_and_labels_are_made_the_same_today(moment, played, tmp_path) -> None:
    """What the device has learned about its owner, and what its owner has pressed."""
    made = played.folder / "states" / moment
    golden = copy_state(moment, tmp_path / "state")
    assert alike(recognition_of(made), recognition_of(golden))
    assert (made / LABELS).exists() == (golden / LABELS).exists()
    if (golden / LABELS).exists():
        assert (made / LABELS).read_bytes() == (golden / LABELS).read_bytes()


def phases_of(about: Any) -> dict[str, str]:
    """The phase of each task in a summary."""
    return {name: task["phase"] for name, task in about["tasks"].items()}


def test_the_moments_show_every_phase() -> None:
    """Learning, waiting for the active set with rows, for the receipt, serving and stopped."""
    found = {moment: read_json(STATES / f"{moment}.json") for moment in MOMENTS}
    phases = {moment: phases_of(about) for moment, about in found.items()}
    assert set(phases["learning"].values()) == {Phase.LEARNING}
    assert phases["screened"]["dense"] == Phase.SCREENED
    assert found["screened"]["tasks"]["dense"]["kept"] == 40
    assert phases["reported"]["dense"] == Phase.REPORTED
    assert [row["stage"] for row in found["reported"]["outbox"]] == ["final"]
    assert phases["reported"]["votes"] == Phase.LEARNING
    assert set(phases["serving"].values()) == {Phase.SERVING, Phase.STOPPED}


# --- going on -------------------------------------------------------------------------------------


@contextmanager
def continued(moment: str, tmp_path: Path) -> Iterator[Device]:
    """The device, started again on a copy of its state; it has heard the tasks."""
    device = on_disk(copy_state(moment, tmp_path / "state"), DEVICE, NAMES, Clock())
    device.hear(of_kind(WIRE, "task"))
    yield device
    device.state.close()


def reports_of(task: str) -> list[bytes]:
    """The golden reports of the device, the first stage first."""
    return [m.payload for m in of_kind(wire_of(task), "report") if m.topic.endswith(DEVICE)]


def said(device: Device) -> dict[str, bytes]:
    """The reports that leave now, by task."""
    return {message.task: message.payload for message in of_kind(device.say(), "report")}


def heard(device: Device, kind: str) -> list[Message]:
    """The golden messages of a kind that this device gets."""
    others = ("dev-2", "dev-3", "dev-4", "dev-5", "dev-6", "dev-7", "dev-8")
    return [message for message in of_kind(WIRE, kind) if not message.topic.endswith(others)]


def test_half_way_learning_goes_on_to_the_same_reports(tmp_path: Path) -> None:
    """Sums, kept rows and the place in the file continue: no record is lost or counted twice."""
    with continued("learning", tmp_path) as device:
        assert said(device) == {}
        device.learn(device.rest(46))
        assert said(device) == {name: reports_of(name)[0] for name in NAMES}


def test_waiting_for_the_active_set_goes_on_to_the_same_reports(tmp_path: Path) -> None:
    """Kept rows become the second report at once; with fresh records it comes after them."""
    with continued("screened", tmp_path) as device:
        device.hear(heard(device, "active"))
        assert said(device) == {"dense": reports_of("dense")[1]}
        device.learn(device.rest(90))
        assert said(device)["votes"] == reports_of("votes")[1]


def test_what_was_not_answered_is_sent_again_as_the_same_bytes(tmp_path: Path) -> None:
    """The outbox repeats itself until the receipt comes; the half-learned second stage goes on."""
    with continued("reported", tmp_path) as device:
        assert said(device) == {"dense": reports_of("dense")[1]}
        device.learn(device.rest(90))
        assert said(device) == {name: reports_of(name)[1] for name in ("dense", "votes")}
        device.hear(heard(device, "receipt"))
        assert said(device) == {}
        assert {agent.phase for agent in device.agents} == {Phase.SERVING}


def test_a_serving_device_says_nothing_and_serves_the_same(tmp_path: Path) -> None:
    """Nothing is sent twice, and records become the same numbers, classes and activities."""
    with continued("serving", tmp_path) as device:
        assert said(device) == {}
        assert not any(agent.wants_records for agent in device.agents)
    found = json.loads(json.dumps(served(tmp_path / "state")))
    assert alike(found, read_json(STATES / "served.json"))
