"""What is said about a refused record is what it was refused for, and nothing that is in it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.records import UNREADABLE, Position, Record
from edge_agent.watch.refusals import refusal
from tests.edge_agent.world import simulated
from tests.fsir.tasks import task

OF = task(3, response={"name": "activity", "classes": ["walk", "sit", "lie"]})
NAMES = OF.features.names
GOOD = {"x0": 1.0, "x1": "2.5", "x2": 3, "activity": "walk"}


def of(values, y=None, fault=""):
    return Record(Position(0), values, y, fault=fault)


@pytest.mark.parametrize(
    ("record", "reason", "said"),
    [
        (
            of({"x0": 1, "x_1": 2, "x2": 3, "activity": "sit"}),
            "missing feature",
            "there is no 'x1', a feature of the task; is 'x_1' what is meant? rename it",
        ),
        (
            of({"a": 1, "activity": "sit"}),
            "missing feature",
            "there is no 'x0', a feature of the task, and 2 more; there are a, activity",
        ),
        (
            of(GOOD | {"x1": "secret"}),
            "not a number",
            "'x1': a text where a number should be; let that column hold numbers alone",
        ),
        (of(GOOD | {"x1": ""}), "not a number", "'x1': nothing where a number should be"),
        (of(GOOD | {"x2": [1]}), "not a number", "'x2': a list or an object where a number"),
        (of(GOOD | {"x0": "nan"}), "not finite", "'x0': NaN where a finite number should be"),
        (of(GOOD | {"x0": math.inf}), "not finite", "'x0': infinity where a finite number"),
        (
            of(GOOD | {"activity": "secret"}),
            "unknown response",
            "'activity', the response, has a label that the task does not know; "
            "known are walk, sit, lie",
        ),
        (of(GOOD | {"activity": ""}), "unknown response", "'activity', the response, is empty"),
        (
            of({"x0": 1, "x1": 2, "x2": 3, "Activity": "sit"}),
            "unknown response",
            "there is no 'activity', the response; is 'Activity' what is meant? rename it",
        ),
        (of(GOOD, y=""), "no label", "nobody has said what was done then; say what you are doing"),
        (
            of({}, fault=UNREADABLE),
            "unreadable",
            "nothing that can be read as a record; the source says in its log",
        ),
        (of({}, fault="saturated"), "saturated", "saturated"),
    ],
)
def test_each_reason_names_the_place_and_the_remedy(record, reason, said):
    found = refusal(OF, NAMES, record)
    assert found.reason == reason
    assert str(found).startswith(said)
    assert "secret" not in str(found)


def test_a_number_that_is_none():
    found = refusal(
        task(1, response={"classes": None, "cuts": [0.0]}), ["x0"], of({"x0": 1, "y": "a"})
    )
    assert str(found).startswith("'y', the response: a text where a number should be")


VALUES = st.sampled_from([1.0, "2", "warm", "", None, math.nan, "inf", True, [1], {"a": 1}])
LABELS = st.sampled_from(["walk", "sit", "WALK", "", None, 3])


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.sampled_from([*NAMES, "other"]), VALUES),
    st.one_of(st.none(), LABELS),
    LABELS,
    st.booleans(),
)
def test_it_is_what_the_agent_counts(values, y, label, there):
    """The learner refuses exactly what is explained here, for the reason that is given."""
    record = of(values | ({"activity": label} if there else {}), y)
    agent = simulated(OF)
    agent.learn(record)
    found = refusal(OF, NAMES, record)
    assert dict(agent.refused) == ({} if found is None else {found.reason: 1})
    assert agent.why_refused() == found
