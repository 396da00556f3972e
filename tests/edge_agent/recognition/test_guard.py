"""That a device with labels is never worse than with the federation alone, up to the bound."""

from __future__ import annotations

import math

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.recognition.guard import ALLOWED, Guard
from edge_agent.recognition.recogniser import Recogniser
from edge_agent.recognition.scores import FEDERATION, SAID
from tests.edge_agent.recognition.people import CLASSES
from tests.edge_agent.recognition.whitened import PRIOR, Records, lived, owner


def bound(n: int) -> float:
    """Of right answers that what was said may have less than the federation after n labels."""
    return ALLOWED * (1.0 + math.log2(max(1.0, n / ALLOWED)))


def shortfalls(rights: list[tuple[bool, bool]]) -> list[int]:
    """What listening to the device whenever the guard allows it has cost after each label."""
    guard = Guard()
    cost = [0]
    for device, federation in rights:
        spoke = guard.open
        cost.append(cost[-1] + spoke * (federation - device))
        guard.add(spoke=spoke, device=device, federation=federation)
    return cost


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=400))
def test_whatever_the_labels_are_the_cost_stays_below_the_bound(rights):
    assert all(cost <= bound(n) for n, cost in enumerate(shortfalls(rights)))


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.integers(1, 300))
@settings(deadline=None)
def test_also_where_either_is_good_for_a_while(seed, good, bad, run):
    rng = np.random.default_rng(seed)
    device = rng.random(3000) < np.where(np.arange(3000) // run % 2, good, bad)
    federation = rng.random(3000) < 0.5
    rights = list(zip(device.tolist(), federation.tolist(), strict=True))
    assert all(cost <= bound(n) for n, cost in enumerate(shortfalls(rights)))


def test_even_where_the_labels_are_made_to_harm():
    """The worst that labels can do: right whenever nobody listens, wrong whenever somebody does."""
    guard = Guard()
    cost = 0
    for n in range(1, 20_000):
        spoke = guard.open
        guard.add(spoke=spoke, device=not spoke, federation=spoke)
        cost += spoke
        assert cost <= bound(n)
    assert cost > 8 * ALLOWED  # the bound is no idle one


def test_late_labels_cost_no_more_than_those_on_their_way():
    rng = np.random.default_rng(0)
    lag = 40
    guard = Guard()
    waiting: list[tuple[bool, bool, bool]] = []
    cost = 0
    for n in range(1, 4000):
        spoke = guard.open
        device = bool(rng.random() < (0.3 if spoke else 0.9))
        waiting.append((spoke, device, bool(rng.random() < 0.6)))
        if len(waiting) > lag:
            spoke, device, federation = waiting.pop(0)
            cost += spoke * (federation - device)
            guard.add(spoke=spoke, device=device, federation=federation)
        assert cost <= bound(n) * (1 + lag / ALLOWED)


def shuffled(records: Records) -> Records:
    labels = np.random.default_rng(9).permutation([label for _, label in records]).tolist()
    return [(v, label) for (v, _), label in zip(records, labels, strict=True)]


def swapped(records: Records) -> Records:
    """An owner who takes the labels for something else half of the time, and changes their mind."""
    other = {"a": "b", "b": "c", "c": "a"}
    return [(v, other[label] if k // 100 % 2 else label) for k, (v, label) in enumerate(records)]


STREAMS = {
    "as the federation says": owner(1500, offset=np.zeros(4)),
    "an owner who differs": owner(1500),
    "shuffled labels": shuffled(owner(1500)),
    "labels that change their meaning": swapped(owner(1500)),
    "drift": owner(500) + owner(500, seed=1, offset=np.zeros(4)) + owner(500, seed=2),
    "one class only": [(v, "b") for v, label in owner(1500) if label == "b"],
    "classes one after the other": sorted(owner(1500), key=lambda record: record[1]),
    "a label for everything": [(v, "c") for v, _ in owner(1500)],
}


@pytest.mark.parametrize("kind", STREAMS)
def test_what_is_said_is_not_worse_than_the_federation(kind):
    recogniser = Recogniser(CLASSES, prior=PRIOR)
    said = federation = 0
    for n, record in enumerate(STREAMS[kind], start=1):
        lived(recogniser, [record])
        said = recogniser.scores.right[SAID]
        federation = recogniser.scores.right[FEDERATION]
        assert said >= federation - bound(n)
    if kind == "an owner who differs":
        assert said > federation + 100


def test_the_guard_survives_a_restart():
    recogniser = Recogniser(CLASSES, "s", 1, PRIOR)
    lived(recogniser, swapped(owner(700)))
    table = msgpack.unpackb(msgpack.packb(recogniser.table()))
    assert any(table["guard"])  # it has something to remember
    assert Recogniser.of(CLASSES, table, PRIOR).table()["guard"] == table["guard"]
