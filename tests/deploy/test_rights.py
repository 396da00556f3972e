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
