"""What the commands tell an owner about two aggregators."""

from __future__ import annotations

import json

import pytest
import tomli_w

from edge_agent.cli import main
from edge_agent.exchange.words import said
from edge_agent.state.state import State
from fsir import describe
from fsir.privacy.claims import promises
from fsir.privacy.describe import rounded_up
from fsir.task.secure import HELPER, LEADER
from fsir.wire.cohort import Declined, Heading, Proposal, encode_cohort
from fsir.wire.messages import receipt_topic, topic
from tests.aggregator.secure.pair import PAIRS
from tests.edge_agent.secure.answering import TASK, answer, reported
from tests.edge_agent.world import DEVICE

AWAITED = "counted by the leader 'hospital', not answered by the helper 'university' yet"
COST = rounded_up(promises(TASK)[1].epsilon)
BOTH = f"epsilon {COST} against 'hospital' and 'university' together"


@pytest.fixture
def directory(tmp_path):
    """The state of a device whose report has been answered by the leader alone."""
    agent, sent = reported(state=State(tmp_path, DEVICE, simulated=True))
    agent.receive(*answer(sent, LEADER))
    agent.state.close()
    return str(tmp_path)


def test_status_says_who_is_awaited_and_what_is_promised(directory, capsys):
    assert main(["status", "--state", directory]) == 0
    told = capsys.readouterr().out
    assert f"{TASK.name}: the report in the outbox is {AWAITED}" in told
    for words in (BOTH, "if one of 'hospital' and 'university' is honest", "epsilon 0 against the"):
        assert words in told
    assert main(["status", "--json", "--state", directory]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["tasks"]
    assert entry["aggregators"] == {LEADER: "hospital", HELPER: "university"}
    assert entry["awaited"] == [AWAITED]


def test_the_ledger_says_what_it_costs_if_both_collude(directory, capsys):
    assert main(["ledger", "--state", directory]) == 0
    assert f"{TASK.name}: {BOTH}" in capsys.readouterr().out
    assert main(["ledger", "--json", "--state", directory]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["promises"][TASK.name]) == 3
    assert told["releases"][0]["verdict"] == ""


def test_check_names_both_and_their_promises(tmp_path, capsys):
    path = tmp_path / "task.toml"
    path.write_text(tomli_w.dumps(TASK.table()))
    assert main(["check", "--task", str(path)]) == 0
    told = capsys.readouterr().out
    for promise in promises(TASK):
        shown = f"Against {promise.against}: epsilon {rounded_up(promise.epsilon)}"
        assert shown in told
        assert shown in describe(TASK)
    assert "This device would take part." in told


def test_what_goes_over_the_wire_is_told_in_words():
    _, sent = reported()
    about = said(sent.topic, sent.payload)
    assert about.kind == "report"
    assert "the final report of dev-1 about 100 records in two sealed shares" in about.words
    place, raw = answer(sent, HELPER)
    assert place == receipt_topic(TASK.name, DEVICE, HELPER)
    assert said(place, raw).words.startswith(f"to {DEVICE} by the helper, task ")
    heading = Heading(task=TASK.digest, stage="final", number=2)
    proposal = encode_cohort(Proposal(heading, (bytes(16),)), PAIRS[LEADER].sign)
    words = said(topic(TASK.name, "cohort", LEADER), proposal).words
    assert "the leader proposes to open 1 reports, cohort 2 of final reports" in words
    declined = encode_cohort(Declined(heading, "too few"), PAIRS[HELPER].sign)
    words = said(topic(TASK.name, "cohort", HELPER), declined).words
    assert words == "the helper opens nothing of cohort 2 of final reports: too few"
