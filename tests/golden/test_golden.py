"""The bytes on the wire are those of version 0.1."""

from __future__ import annotations

import tomllib

import pytest
import tomli_w

from fsir.contract import decode_task, load_task, task_from_table
from fsir.task.task import MECHANISMS, Task
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Presence, Receipt, Report, Subspace, encode, topic
from tests.golden.federation.tasks import ALL, SERVED
from tests.golden.files import TASKS, Message, of_kind, same_subspace, wire_of

WIRE = {task.name: wire_of(task.name) for task in SERVED}
NAMES = list(WIRE)
KINDS = {kind.__name__.lower(): kind for kind in (Active, Presence, Receipt, Report, Subspace)}


@pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
def test_a_task_has_the_same_bytes_from_every_side(task: Task) -> None:
    """Tables, canonical bytes and TOML of a task stand for each other."""
    raw = (TASKS / f"{task.name}.msgpack").read_bytes()
    path = TASKS / f"{task.name}.toml"
    assert task.encode() == raw
    assert decode_task(raw) == load_task(path) == task
    assert decode_task(raw).encode() == load_task(path).encode() == raw
    assert task_from_table(tomllib.loads(tomli_w.dumps(task.table()))) == task


@pytest.mark.parametrize("name", NAMES)
def test_every_message_is_read_and_written_as_the_same_bytes(name: str) -> None:
    """Nothing is lost and nothing is added between bytes and message, in either direction."""
    for message in WIRE[name]:
        if message.kind == "task":
            assert decode_task(message.payload).encode() == message.payload
        else:
            assert encode(decode(message.payload, KINDS[message.kind])) == message.payload


@pytest.mark.parametrize("name", NAMES)
def test_the_federation_says_the_same_today(name: str, played) -> None:
    """Seeded devices and an aggregator publish the golden bytes, in the golden order."""
    found = [message for message in played.wire if message.task == name]
    wanted = WIRE[name]
    assert [message.topic for message in found] == [message.topic for message in wanted]
    for now, then in zip(found, wanted, strict=True):
        if then.kind == "subspace":
            assert same_subspace(now.payload, then.payload)
        else:
            assert now.payload == then.payload


def test_nothing_else_is_on_the_wire(played) -> None:
    """Messages belong to golden tasks."""
    assert {message.task for message in played.wire} == set(NAMES)


def test_messages_are_published_in_the_same_manner(played) -> None:
    """What devices ask to be retained, and at which quality of service the aggregator answers."""
    assert played.play.retained == {("report", False), ("presence", True)}
    everything = {("task", 1), ("active", 1), ("subspace", 1), ("receipt", 0)}
    assert played.play.qos == everything


# --- that the golden files hold what they should --------------------------------------------------


def _read(kind: str) -> list[tuple[Message, object]]:
    messages = [message for name in NAMES for message in of_kind(WIRE[name], kind)]
    return [(message, decode(message.payload, KINDS[kind])) for message in messages]


def test_reports_of_every_mechanism_and_stage_are_golden() -> None:
    """Each mechanism, each stage, votes and blocks occur."""
    mechanisms = {task.name: task.privacy.mechanism for task in SERVED}
    found = {
        (mechanisms[message.task], report.stage, report.votes is not None)
        for message, report in _read("report")
        if isinstance(report, Report)
    }
    proven = {("gaussian", "screening", False), ("gaussian", "screening", True)}
    assert found == proven | {(mechanism, "final", False) for mechanism in MECHANISMS}


def test_receipts_of_every_verdict_are_golden() -> None:
    """Counted, duplicate and refused occur, and refusals for ten reasons."""
    read = [receipt for _, receipt in _read("receipt") if isinstance(receipt, Receipt)]
    verdicts = [verdict for receipt in read for verdict in receipt.verdicts.values()]
    assert {verdict.status for verdict in verdicts} == {"counted", "duplicate", "refused"}
    reasons = {verdict.reason.partition(":")[0] for verdict in verdicts if verdict.reason}
    assert len(reasons) == 10


def test_subspaces_of_every_kind_are_golden() -> None:
    """With and without a classifier, a note, and a second version."""
    read = [subspace for _, subspace in _read("subspace") if isinstance(subspace, Subspace)]
    assert {subspace.classifier is None for subspace in read} == {True, False}
    assert {bool(subspace.notes) for subspace in read} == {True, False}
    assert {subspace.version for subspace in read} == {1, 2}


def test_active_sets_and_presence_are_golden() -> None:
    """An active set by sums, by votes and by code; devices that come, and one that goes."""
    assert [message.task for message, _ in _read("active")] == ["dense", "votes", "coded"]
    assert {presence.online for _, presence in _read("presence")} == {True, False}
    topics = {message.topic for message, _ in _read("presence")}
    assert topic("plain", "presence", "dev-1") in topics
