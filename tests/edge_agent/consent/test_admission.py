"""What the budget needs to know of a source."""

from __future__ import annotations

from contextlib import closing

import pytest

from edge_agent.consent.admission import Feed, refusals
from edge_agent.consent.policy import Policy
from edge_agent.errors import SourceError
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.state.state import State
from fsir.net.broker import Broker
from tests.edge_agent.world import DEVICE
from tests.fsir.tasks import task


class Plugin:
    """A source of another package, as far as the budget looks at it."""

    name = "plugin:heart"
    stream = "plugin:heart#1"
    replayable = False


class Overlapping(Plugin):
    unit_records = 3


def test_a_source_says_how_many_records_one_reading_can_touch():
    feed = Feed.of(Overlapping())
    assert feed == Feed(
        "plugin:heart", replayable=False, stream="plugin:heart#1", unit_records=3, label=None
    )
    assert feed.identity == "plugin:heart#1"


def test_a_source_that_does_not_say_so_is_refused_with_the_remedy():
    with pytest.raises(SourceError, match=r"source plugin:heart: .* must have unit_records"):
        Feed.of(Plugin())


class Labelled(Overlapping):
    unit_records = 1
    label = "activity"


@pytest.mark.parametrize("forbidden", ["activity", "label", "y", "act*"])
def test_labels_that_the_owner_never_shares_serve_no_task_whatever_it_calls_them(forbidden):
    strange = task(response={"name": "zzz", "classes": ["a", "b"]})
    state = State(None, DEVICE)
    policy = Policy(never_share=(forbidden,))
    (reason,) = refusals(state, strange, policy, Feed.of(Labelled()))
    assert reason.endswith(
        f"the owner never shares: {'activity' if '*' in forbidden else forbidden}"
    )
    pressed = refusals(state, strange, Policy(never_share=("label",)), Feed("csv:a", label="label"))
    assert "never shares: label" in pressed[0]


def test_a_source_without_labels_beside_its_values_is_not_concerned():
    plain = task(response={"name": "zzz", "classes": ["a", "b"]})
    policy = Policy(never_share=("activity", "label", "y"))
    assert refusals(State(None, DEVICE), plain, policy, Feed("csv:a")) == []


def test_a_source_that_does_not_name_its_labels_serves_nobody_who_holds_something_back():
    feed = Feed.of(Overlapping())
    plain = task(privacy={"epsilon": 1.0, "unit_records": 3})
    assert refusals(State(None, DEVICE), plain, Policy(), feed) == []
    (reason,) = refusals(State(None, DEVICE), plain, Policy(never_share=("x9",)), feed)
    assert "its class must have label" in reason


@pytest.mark.parametrize(
    ("address", "label"),
    [("csv:{}", ""), ("jsonl:{}", ""), ("signals:{}", "label"), ("mqtt:home/+", "")],
)
def test_the_sources_say_what_their_labels_are_called(address, label, tmp_path):
    path = tmp_path / "a"
    path.write_text("time,acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z\n")
    options = Options(acc_range=8.0, gyro_range=17.5, broker=Broker("127.0.0.1", 9))
    with closing(open_source(address.format(path), options)) as source:
        assert Feed.of(source).label == label
        assert Feed.of(source, pressed=True).label == "label"
