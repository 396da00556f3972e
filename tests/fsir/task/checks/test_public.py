"""A section `[public]` that does not fit the rest of the task is refused, with the remedy."""

from __future__ import annotations

import base64

import msgpack
import numpy as np
import pytest

from fsir.contract import decode_task, task_from_table
from fsir.errors import TaskError
from fsir.task.public_map import pack
from tests.fsir.tasks import mapped, table, task

GOOD = mapped(6, 3).table()


def with_public(**changes):
    """The good task with a changed section; `None` removes a field."""
    public = {**GOOD["public"], **changes}
    return {**GOOD, "public": {key: value for key, value in public.items() if value is not None}}


def one(shape, at, value):
    """Rows of ones but for one entry, packed."""
    rows = np.ones(shape)
    rows[at] = value
    return pack(rows)


FAULTS = {
    "no records": (with_public(records=0), "public.records = 0", "from 1 to"),
    "missing records": (with_public(records=None), "public.records", "is missing"),
    "missing centres": (with_public(centres=None), "public.centres", "is missing"),
    "no coordinates": (with_public(coordinates=0), "public.coordinates = 0", "from 1 to 6"),
    "too many coordinates": (with_public(coordinates=7), "public.coordinates = 7", "from 1 to 6"),
    "sizes": (with_public(coordinates=2), "public.centres = '36 bytes'", "must be 24 bytes"),
    "a row too few": (with_public(map=pack(np.ones((5, 3)))), "public.map = '60 bytes'", "6 rows"),
    "not base64": (with_public(map="?"), "public.map = '?'", "base64"),
    "no text": (with_public(map=[1.0]), "public.map = [1.0]", "base64"),
    "not finite": (with_public(map=one((6, 3), (4, 2), np.nan)), "map = nan", "row 4, column 2"),
    "too large": (with_public(centres=one((3, 3), (2, 1), -2e6)), "centres = -2000000.0", "1e+06"),
    "no map": (with_public(map=None), "public.coordinates = 3", "give a map, or 6"),
    "shares below 0": (with_public(shares=[1.5, -0.5, 0.0]), "public.shares", "at least 0"),
    "shares add up to 2": (with_public(shares=[1.0, 0.5, 0.5]), "public.shares", "add up to 1"),
    "shares of two": (with_public(shares=[0.5, 0.5]), "public.shares = '2 values'", "3 numbers"),
    "accuracy": (with_public(accuracy=1.1), "public.accuracy = 1.1", "at most 1"),
    "check of nothing": (with_public(check=0.0), "public.check = 0.0", "at least 1e-06"),
    "check too large": (with_public(check=2e6), "public.check = 2000000.0", "at most 1e+06"),
    "check no number": (with_public(check=True), "public.check = True", "a finite number"),
    "check beside the clip": (with_public(check=1e-3), "public.check = 0.001", "from 0.0101"),
    "clip beside the check": (with_public(check=1e4), "public.check = 10000.0", "to 665.108"),
    "check of cuts": (
        {**with_public(check=1.0), "response": {"cuts": [-0.5, 0.5]}},
        "public.check = 1.0",
        "give response.classes",
    ),
    "check of centres too far": (
        {
            **with_public(check=0.1, centres=one((3, 3), (2, 1), 15.0)),
            "clip": {"truncate": 20.0, "norm": 0.1},
        },
        "public.check = 0.1",
        "lie 14 apart in a coordinate, more than 128 times clip.norm = 0.1",
    ),
    "misspelt": (with_public(centers=b""), "public.centers", "did you mean 'centres'"),
    "version 1": ({**GOOD, "version": 1}, "version = 1", "leave it out"),
    "screening": (
        {**GOOD, "screening": {"keep": 1, "limit": 2, "final_norm": 1.0}},
        "screening = 'dense'",
        "[public]",
    ),
    "iid": ({**GOOD, "privacy": {"epsilon": 1, "mechanism": "iid"}}, "privacy.mechanism", "none"),
    "vgm": ({**GOOD, "privacy": {"epsilon": 1, "mechanism": "vgm"}}, "privacy.mechanism", "none"),
    "dimension": ({**GOOD, "dimension": 3}, "dimension = 3", "from 1 to 2"),
}


@pytest.mark.parametrize(("values", "what", "remedy"), FAULTS.values(), ids=FAULTS)
def test_a_fault_names_field_value_and_remedy(values, what, remedy):
    with pytest.raises(TaskError) as caught:
        task_from_table(values)
    assert what in str(caught.value)
    assert remedy in str(caught.value)


def test_what_is_at_its_limit_is_accepted():
    rows = np.full((6, 3), 1e6)
    made = task_from_table(with_public(map=pack(rows), centres=pack(np.full((3, 3), -1e6))))
    assert made.public.matrix(6).max() == 1e6
    assert task_from_table(with_public(shares=[0.9995, 0.0, 0.0])).public.shares[0] == 0.9995
    assert task_from_table(with_public(accuracy=0.8)).public.accuracy == 0.8
    assert task_from_table({**GOOD, "privacy": {"epsilon": 1, "mechanism": "none"}}).public
    C = GOOD["clip"]["norm"]
    for check in (C / 256.0, C * 256.0):
        assert task_from_table(with_public(check=check)).public.check == check


def test_base64_and_bytes_are_the_same_task():
    text = base64.b64encode(GOOD["public"]["map"]).decode()
    assert task_from_table(with_public(map=text)).digest == mapped(6, 3).digest


def test_a_mapped_record_may_be_longer_than_its_features():
    assert task_from_table({**GOOD, "clip": {"truncate": 2.0, "norm": 1000.0}}).clip.norm == 1000.0
    with pytest.raises(TaskError, match=r"R sqrt\(p\)"):
        task(6, clip={"truncate": 2.0, "norm": 1000.0})


def test_a_map_that_no_device_could_read_is_named():
    p = 1100
    public = {
        "records": 10,
        "coordinates": 1000,
        "centres": pack(np.zeros((3, 1000))),
        "shares": [0.5, 0.5, 0.0],
        "map": pack(np.ones((p, 1000))),
    }
    with pytest.raises(TaskError, match=r"public.map = '4400000 bytes'.*fewer coordinates"):
        task_from_table(table(p, public=public))


def test_a_message_with_a_map_in_base64_is_not_canonical():
    text = base64.b64encode(GOOD["public"]["map"]).decode()
    values = msgpack.unpackb(mapped(6, 3).encode())
    values["public"]["map"] = text
    with pytest.raises(TaskError, match="canonical"):
        decode_task(msgpack.packb(values))


SPLITS = {
    "too small": ({"split": 0.04}, "at least 0.05"),
    "too large": ({"split": 2.1}, "at most 2"),
    "iid": ({"split": 1.0, "mechanism": "iid"}, "leave it out"),
    "none": ({"split": 1.0, "mechanism": "none"}, "leave it out"),
}


@pytest.mark.parametrize(("privacy", "remedy"), SPLITS.values(), ids=SPLITS)
def test_a_split_that_means_nothing_is_refused(privacy, remedy):
    with pytest.raises(TaskError, match=r"privacy\.split") as caught:
        task(4, privacy=privacy)
    assert remedy in str(caught.value)


def test_a_split_needs_version_2_and_stands_in_the_bytes():
    with pytest.raises(TaskError, match=r"privacy\.split"):
        task(4, privacy={"split": 1.0}, version=1)
    made = task(4, privacy={"split": 1.0})
    assert decode_task(made.encode()) == made
    assert made.table()["privacy"]["split"] == 1.0
