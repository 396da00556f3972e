"""What a task is: its bytes, its identity, and what follows from it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from fsir.contract import decode_task, task_from_table
from tests.fsir.tasks import screened, table, task

EVERY_KIND = {
    "plain": task(),
    "numbers": task(response={"classes": None, "cuts": [0.0, 1.5]}, dimension=2),
    "screened": screened(6),
    "votes": screened(6, method="votes", threshold=0.3, records="fresh"),
    "published": task(privacy={"mechanism": "vgm", "delta": 1e-3}),
    "derived": task(report={"records": None, "sigma_0": 0.2, "max_delay": 60}, epoch=4),
    "dated": task(report={"records": 5000, "sigma_0": 0.2, "deadline": 2_000_000_000}),
    "trimmed": task(aggregation="trimmed"),
}


@pytest.mark.parametrize("made", EVERY_KIND.values(), ids=EVERY_KIND)
def test_bytes_and_tables_give_the_same_task_again(made):
    raw = made.encode()
    assert decode_task(raw) == made
    assert task_from_table(made.table()) == made
    assert task_from_table(made.table()).encode() == raw
    assert made.digest == hashlib.sha256(raw).digest()


def test_the_digest_is_the_same_for_the_same_meaning():
    named = task(features={"centre": 0, "scale": 1})
    assert named.digest == task(features={"centre": [0.0, 0, -0.0]}).digest
    shuffled = dict(reversed(list(table().items())))
    assert task_from_table(shuffled).digest == task().digest


CHANGES = [
    {"name": "other"},
    {"epoch": 2},
    {"features": {"centre": 0.1}},
    {"features": {"scale": 2}},
    {"dimension": 1},
    {"response": {"classes": ["a", "c", "b"]}},
    {"clip": {"norm": 1.0}},
    {"clip": {"truncate": 2.5}},
    {"privacy": {"delta": 1e-5}},
    {"privacy": {"unit_records": 2}},
    {"report": {"records": 101}},
    {"report": {"presence": True}},
    {"privacy": {"mechanism": "iid"}},
    {"aggregation": "trimmed"},
]


def test_the_digest_changes_with_every_field():
    digests = {task(**change).digest for change in [{}, *CHANGES]}
    assert len(digests) == len(CHANGES) + 1


def test_a_task_that_asks_for_nothing_new_keeps_its_identity():
    """Devices have pinned tasks by their digest: a new field must not change it if not used."""
    assert task(version=1).digest.hex().startswith("aba31672d660dd97")
    assert replace(screened(), version=1).digest.hex().startswith("2f5116f392dcc7c8")
    assert task(aggregation="sum", dimension="auto").digest == task().digest


def test_features_know_where_they_stand():
    features = task(4).features
    assert features.indices(["x3", "x0"]) == (3, 0)
    assert features.indices([]) == ()
    assert features.unknown(["x3", "y", "x0", "z", "y"]) == ["y", "z", "y"]
    with pytest.raises(KeyError):
        features.indices(["x0", "y"])


@pytest.mark.parametrize(
    ("made", "votes", "fresh"),
    [
        (task(), False, False),
        (screened(), False, False),
        (screened(records="fresh"), False, True),
        (screened(method="votes", threshold=0.3), True, False),
        (screened(method="votes", threshold=0.3, records="fresh"), True, True),
    ],
)
def test_a_task_says_how_it_screens(made, votes, fresh):
    assert made.screens_by_votes == votes
    assert made.asks_for_fresh_records == fresh
