"""What a device may write and read, with the shipped broker configuration."""

from __future__ import annotations

import pytest

from tests.deploy.clients import Parties

pytestmark = pytest.mark.broker
TASK = "fsir/1/activity"


# --- what a device may write ----------------------------------------------------------------------

OF_OTHERS = (
    "ask/B",
    "report/B",
    "presence/B",
    "receipt/A",
    "receipt/B",
    "receipt/A/helper",
    "cohort/leader",
    "cohort/helper",
    "cohort/A",
    "task",
    "active",
    "subspace",
)
ALMOST_ITS_OWN = ("report", "report/A/more", "report/a")
FORBIDDEN = [
    *(f"{TASK}/{kind}" for kind in (*OF_OTHERS, *ALMOST_ITS_OWN)),
    "fsir/1/x/y/report/A",
    "fsir/2/activity/report/A",
    "fsir/1/activity",
    "report/A",
    "sensors/A",
    "$SYS/broker/clients/total",
]


def test_a_device_writes_its_own_ask_report_and_presence(parties: Parties) -> None:
    topics = [f"fsir/1/+/{kind}/+" for kind in ("ask", "report", "presence")]
    with parties.aggregator.listening(*topics) as aggregator:
        assert parties.a.publish(f"{TASK}/presence/A", "here") == ""
        assert parties.a.publish(f"{TASK}/ask/A", "please") == ""
        assert parties.a.publish(f"{TASK}/report/A", "last") == ""
        said = ("presence/A here", "ask/A please", "report/A last")
        assert aggregator.until("last") == [f"{TASK}/{line}" for line in said]


def test_a_device_writes_nothing_else(parties: Parties) -> None:
    """Neither as another device nor as the aggregator: the broker says no, nobody gets anything."""
    with parties.aggregator.listening("#") as aggregator:
        for topic in FORBIDDEN:
            assert "Not authorized" in parties.a.publish(topic, "forged", "-r"), topic
        parties.a.publish(f"{TASK}/report/A", "last")
        seen = aggregator.until("last")
    with parties.b.listening("#") as b:
        for topic in FORBIDDEN:
            assert "Not authorized" in parties.a.publish(topic, "forged"), topic
        parties.aggregator.publish(f"{TASK}/receipt/B", "last")
        seen += b.until("last")
    assert seen == [f"{TASK}/report/A last", f"{TASK}/receipt/B last"]


def test_a_last_will_is_no_way_around(parties: Parties) -> None:
    """The broker sends the will of a dead device: only where the device could have written."""
    with parties.aggregator.listening("#") as aggregator:
        for topic, text in ((f"{TASK}/report/B", "forged"), (f"{TASK}/report/A", "last")):
            will = ("--will-topic", topic, "--will-payload", text)
            with parties.a.listening(f"{TASK}/task", options=will) as a:
                a.kill()
        assert aggregator.until("last") == [f"{TASK}/report/A last"]


# --- what a device may read -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "topics", [("#",), ("+/#",), (f"{TASK}/#",), (f"{TASK}/+/+", f"{TASK}/+"), ("$SYS/#", "#")]
)
def test_wildcards_yield_only_what_is_allowed(parties: Parties, topics: tuple[str, ...]) -> None:
    """A device listens to everything while others report and get their receipts."""
    public = [f"{TASK}/{kind}" for kind in ("task", "active", "subspace")]
    with parties.b.listening(*topics) as b:
        parties.a.publish(f"{TASK}/report/A", "private")
        parties.a.publish(f"{TASK}/ask/A", "private")
        parties.a.publish(f"{TASK}/presence/A", "private")
        parties.aggregator.publish(f"{TASK}/receipt/A", "private")
        for topic in public:
            parties.aggregator.publish(topic, "public")
        parties.aggregator.publish(f"{TASK}/receipt/B", "last")
        news = [f"{topic} public" for topic in public]
        assert b.until("last") == [*news, f"{TASK}/receipt/B last"]


def test_what_is_kept_for_one_device_is_not_for_another(parties: Parties) -> None:
    """Retained messages go through the same checks; so do shared subscriptions."""
    for kind in ("task", "receipt/A", "receipt/B"):
        parties.aggregator.publish(f"{TASK}/{kind}", "kept", "-r")
    parties.a.publish(f"{TASK}/report/A", "kept", "-r")
    try:
        with parties.b.listening("#", f"{TASK}/receipt/A", f"$share/x/{TASK}/report/+") as b:
            parties.a.publish(f"{TASK}/report/A", "shared")
            parties.aggregator.publish(f"{TASK}/receipt/B", "last")
            allowed = ("receipt/B kept", "receipt/B last", "task kept")
            assert sorted(b.until("last")) == [f"{TASK}/{news}" for news in allowed]
    finally:
        for kind in ("task", "receipt/A", "receipt/B"):
            parties.aggregator.publish(f"{TASK}/{kind}", "", "-r")
        parties.a.publish(f"{TASK}/report/A", "", "-r")


# --- what two aggregators may do ------------------------------------------------------------------


def test_neither_of_two_aggregators_can_write_as_the_other(parties: Parties) -> None:
    own = {
        parties.aggregator: ("cohort/leader", "receipt/A", "task", "active", "subspace"),
        parties.helper: ("cohort/helper", "receipt/A/helper"),
    }
    for party, kinds in own.items():
        other = next(each for each in own if each is not party)
        for kind in kinds:
            assert party.publish(f"{TASK}/{kind}", "mine") == "", kind
            assert "Not authorized" in other.publish(f"{TASK}/{kind}", "forged"), kind
        assert "Not authorized" in party.publish(f"{TASK}/report/A", "forged")


def test_a_device_reads_both_receipts_and_no_word_between_aggregators(parties: Parties) -> None:
    with parties.a.listening("#") as a:
        for party, role in ((parties.aggregator, "leader"), (parties.helper, "helper")):
            party.publish(f"{TASK}/cohort/{role}", "private")
        parties.helper.publish(f"{TASK}/receipt/B/helper", "private")
        parties.helper.publish(f"{TASK}/receipt/A/helper", "mine")
        parties.aggregator.publish(f"{TASK}/receipt/A", "last")
        assert a.until("last") == [f"{TASK}/receipt/A/helper mine", f"{TASK}/receipt/A last"]


def test_a_helper_reads_asks_reports_and_what_the_leader_says(parties: Parties) -> None:
    with parties.helper.listening("#") as helper:
        parties.aggregator.publish(f"{TASK}/cohort/leader", "open these")
        parties.aggregator.publish(f"{TASK}/receipt/A", "private")
        parties.a.publish(f"{TASK}/ask/B", "of somebody else")
        parties.a.publish(f"{TASK}/ask/A", "what is known of me?")
        parties.a.publish(f"{TASK}/report/A", "last")
        said = ("cohort/leader open these", "ask/A what is known of me?", "report/A last")
        assert helper.until("last") == [f"{TASK}/{line}" for line in said]


def test_no_device_writes_on_the_topic_of_a_workers_probe(parties: Parties) -> None:
    with parties.aggregator.listening("#") as worker:
        parties.a.publish(f"{TASK}/probe/w", "forged")
        parties.a.publish(f"{TASK}/report/A", "last")
        assert worker.until("last") == [f"{TASK}/report/A last"]
