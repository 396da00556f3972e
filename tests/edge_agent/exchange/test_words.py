"""Messages in words: all that is written on them, and no more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.exchange.words import KINDS, said
from fsir.wire.messages import (
    Active,
    Ask,
    Presence,
    Receipt,
    Verdict,
    encode,
    report_id,
    topic,
)
from tests.edge_agent.world import DEVICE, data, simulated, subspace
from tests.fsir.tasks import task
from tests.golden.files import WIRE, Message, read_messages

PLAIN = task(name="activity")
DIGEST = PLAIN.digest.hex()[:16]
GOLDEN = [message for path in sorted(WIRE.glob("*.txt")) for message in read_messages(path)]


def about(kind: str) -> str:
    device = DEVICE if kind in ("ask", "report", "receipt", "presence") else None
    return topic("activity", kind, device)


def test_a_task() -> None:
    assert said(about("task"), PLAIN.encode()).words == (
        f"digest {DIGEST}, version 2, epoch 1: 3 features, response 'y'; "
        "gaussian, epsilon 1 at delta 1e-06"
    )
    other = said(topic("other", "task"), PLAIN.encode()).words
    assert other == "cannot be read: task 'activity' was published under the name 'other'"


def test_of_a_report_only_what_is_written_on_it() -> None:
    agent = simulated(PLAIN)
    agent.learn_many(*data(PLAIN, 100))
    (sent,) = agent.outgoing(1.0)
    assert said(sent.topic, sent.payload).words == (
        f"the final report of {DEVICE} about 100 records, task {DIGEST}, "
        f"report {report_id(sent.payload).hex()}"
    )


def test_answers_of_the_aggregator() -> None:
    verdicts = {
        "screening": Verdict(b"a" * 16, "counted"),
        "final": Verdict(b"b" * 16, "refused", "implausible: far too large"),
    }
    receipt = Receipt(PLAIN.digest, DEVICE, verdicts)
    first = f"to {DEVICE}, task {DIGEST}: "
    known = (
        f"screening report {b'a'.hex() * 16} counted, "
        f"final report {b'b'.hex() * 16} refused (implausible: far too large)"
    )
    assert said(about("receipt"), encode(receipt)).words == first + known
    asked = receipt._replace(instance=b"n" * 16)
    assert said(about("receipt"), encode(asked)).words == f"{first}{known}; a number holds for it"
    empty = receipt._replace(verdicts={})
    assert said(about("receipt"), encode(empty)).words == f"{first}nothing is known of it"


def test_active_set_subspace_ask_and_presence() -> None:
    active = encode(Active(PLAIN.digest, ("a", "b", "c", "d"), 12))
    assert said(about("active"), active).words == (
        f"task {DIGEST}: 4 features (a, b, c, ...), from the reports of 12 devices"
    )
    _, raw = subspace(PLAIN, ("x0", "x1", "x2"), notes=("be careful",), expected_accuracy=0.9)
    assert said(about("subspace"), raw).words == (
        f"task {DIGEST}: version 1, 1 directions over 3 features (x0, x1, x2), from 3 devices; "
        "expected error 0.1, expected accuracy 90%; note: be careful"
    )
    ask = Ask(PLAIN.digest, DEVICE, b"n" * 16)
    asked = f"{DEVICE} asks to go on under a new number {{}}, task {DIGEST}"
    assert said(about("ask"), encode(ask)).words == asked.format("for the first time")
    again = encode(ask._replace(previous=b"p" * 16))
    assert said(about("ask"), again).words == asked.format("in place of the number before")
    assert said(about("presence"), encode(Presence(DEVICE, True))).words == f"{DEVICE} is there"
    assert said(about("presence"), encode(Presence(DEVICE, False))).words == f"{DEVICE} is gone"


@pytest.mark.parametrize("message", GOLDEN, ids=lambda message: message.topic)
def test_whatever_version_0_1_has_sent_can_be_told(message: Message) -> None:
    kind, words = said(message.topic, message.payload)
    assert kind == message.kind
    assert words.isprintable()


def test_of_what_version_0_1_has_sent_only_the_spoilt_cannot_be_read() -> None:
    """The golden wire has some on purpose."""
    unread = [m for m in GOLDEN if said(m.topic, m.payload).words.startswith("cannot be read")]
    assert len(unread) < len(GOLDEN) / 20
    assert {message.kind for message in unread} <= {"report"}


@given(st.sampled_from(KINDS), st.binary(max_size=60))
def test_garbage_is_told_as_such(kind: str, raw: bytes) -> None:
    found, words = said(about(kind), raw)
    assert found == kind
    assert words == "empty: what was kept here is cleared" if not raw else "cannot be read" in words


@pytest.mark.parametrize(
    "strange",
    ["", "fsir", "fsir/1", "fsir/1/t", "fsir/1/t/gossip", "fsir/2/t/task", "fsir/1/t/report/a/b"],
)
def test_other_topics_are_none_of_ours(strange: str) -> None:
    assert said(strange, b"x") == ("", "not a topic of fsir/1, which this program speaks")
