"""The section `[secure]`: what it may say, alone and beside the rest of a task."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from fsir.contract import decode_task, task_from_table
from fsir.errors import TaskError
from fsir.task.secure import public_half
from tests.fsir.tasks import party, shared, shared_table, table


def changed(**changes):
    """A task whose section is changed; `None` removes a field."""
    section = {**shared_table()["secure"], **changes}
    section = {key: value for key, value in section.items() if value is not None}
    return shared_table(secure=section)


LEADER = party("hospital", 9)
HALF = base64.b64encode(bytes([9]) * 32 + bytes([7]) * 32).decode()  # one key of the leader's
WRONG = {
    "secure": [table(aggregation="secure")],
    "aggregation": [
        shared_table(aggregation="sum"),
        shared_table(aggregation="trimmed"),
        shared_table(report={"deadline": 2_000_000_000}),
        shared_table(screening={"final_norm": 1.0, "method": "votes", "threshold": 0.5}),
    ],
    "secure.leader.name": [changed(leader=party("a/b", 1)), changed(leader=None)],
    "secure.helper.name": [changed(helper=party("hospital", 3))],
    "secure.helper.key": [
        changed(helper=party("university", 9)),
        changed(helper={"name": "university", "key": HALF}),
        changed(helper={"name": "university", "key": "no base64!"}),
        changed(helper={"name": "university", "key": base64.b64encode(bytes(63)).decode()}),
        changed(helper={"name": "university", "key": 64}),
        changed(helper=party("university", 0)),  # nothing can be sealed to it
    ],
    "secure.helper.kay": [changed(helper={**party("university", 8), "kay": 1})],
    "secure.cohort": [
        *(changed(cohort=value) for value in (1, 0, None, 2.5, 10_001)),
        changed(cohort=5000),  # a device alone would have next to no noise
    ],
    "secure.groups": [changed(groups=value) for value in (0, 2, 1001)],
    "secure.rounds": [changed(rounds=3)],
    "version": [shared_table(version=1)],
    "privacy.mechanism": [
        shared_table(privacy={"mechanism": mechanism}) for mechanism in ("iid", "vgm")
    ],
    "report.sigma_0": [shared_table(report={"records": None, "sigma_0": 0.5})],
    "report.records": [
        shared_table(privacy={"mechanism": "none"}, report={"records": 2**25 - 1}),
    ],
    "features.names": [shared_table(1500, clip={"norm": 1.0})],  # in shares it is too long
}


@pytest.mark.parametrize("field", WRONG)
def test_every_fault_is_named_with_its_value_and_remedy(field):
    for wrong in WRONG[field]:
        with pytest.raises(TaskError) as caught:
            task_from_table(wrong)
        assert caught.value.field == field
        assert len(caught.value.remedy) > 10


def test_the_bytes_of_a_task_tell_both_aggregators_and_come_back():
    task = shared(cohort=7, groups=5)
    assert decode_task(task.encode()) == task
    assert task.secure is not None
    assert (task.secure.cohort, task.secure.groups) == (7, 5)
    assert task.secure.party("helper").name == "university"
    other = replace(task, secure=task.secure._replace(cohort=8))
    assert other.digest != task.digest


def test_a_task_without_the_section_has_the_bytes_that_it_had():
    plain = task_from_table(table())
    assert b"secure" not in plain.encode()
    assert plain.secure is None


def test_a_key_has_one_form_as_text():
    text = party("a", 1)["key"]
    assert public_half(text) == bytes([1]) * 64
    for other in (text + "\n", text[:-1] + " ", text.replace("=", ""), "", text.lower()):
        assert public_half(other) is None
    # The last digit before the padding has bits that count for nothing: 88 characters, one form.
    assert public_half(text[:-3] + "R==") is None


@pytest.mark.parametrize("mechanism", ["gaussian", "none"])
def test_two_stages_a_public_map_and_both_mechanisms_can_be_shared(mechanism):
    screening = {"keep": 1, "limit": 2, "final_norm": 1.0}
    task = shared(privacy={"mechanism": mechanism}, screening=screening)
    assert task.privacy.mechanism == mechanism
