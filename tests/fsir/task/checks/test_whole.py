"""Every fault of a task is named with its value and remedy, field by field."""

from __future__ import annotations

import math

import pytest

from fsir.contract import task_from_table
from fsir.errors import TaskError
from tests.fsir.tasks import table

DEADLINE = 2_000_000_000


def section(name, *changes):
    """Tables of which one section is changed."""
    return [table(**{name: change}) for change in changes]


def screening(*changes, p=3):
    """Tables that screen, in most cases as they should."""
    return [table(p, screening={"final_norm": 1.0, **change}) for change in changes]


WRONG = {
    "name": [table(name=name) for name in ("a/b", "a" * 65, "+", 3)],
    "features.names": [
        *section("features", {"names": []}, {"names": ["a", "a"]}, {"names": None}),
        table(features={"names": [f"x{j}" for j in range(20_001)]}),
        table(5000, clip={"norm": 1.0}),  # more numbers than a report can hold
    ],
    "features.centre": section("features", {"centre": [0.0]}, {"centre": 1e200}),
    "features.scale": section(
        "features", {"scale": 0.0}, {"scale": -1.0}, {"scale": 1e-200}, {"scale": [1.0, 1.0]}
    ),
    "response.classes": section(
        "response",
        {"classes": ["a"]},
        {"classes": ["a", "a"]},
        {"cuts": [1.0]},
        {"classes": None},
        {"classes": [1, 2]},
        {"classes": [str(h) for h in range(257)]},
    ),
    "response.cuts": section(
        "response",
        {"classes": None, "cuts": [1.0, 1.0]},
        {"classes": None, "cuts": [math.nan]},
    ),
    "clip.truncate": section(
        "clip",
        {"truncate": 0},
        {"truncate": 1e-9},
        {"truncate": 1000.0, "norm": 1.0},
        {"truncate": None},
    ),
    "clip.norm": section("clip", {"norm": 4.0}, {"norm": 0}, {"norm": -1}),
    "privacy.epsilon": section(
        "privacy",
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": None},
        {"epsilon": 50},
        {"epsilon": 1e-12},
        {"epsilon": 1e-6, "unit_records": 100_000},
    ),
    "privacy.delta": section("privacy", {"delta": 0}, {"delta": 0.5}, {"delta": 1e-13}),
    "privacy.mechanism": section("privacy", {"mechanism": "laplace"}),
    "privacy.unit_records": section("privacy", {"unit_records": 0}, {"unit_records": 1.5}),
    "privacy.epsilom": section("privacy", {"epsilom": 1.0}),
    "report.records": [
        *section(
            "report",
            {"records": 0},
            {"records": 2**25},
            {"records": None},
            # One liar would claim all records in the world.
            {"records": None, "deadline": DEADLINE},
            {"records": None, "deadline": DEADLINE, "sigma_0": 0.1},
            # Fewer than the fewest.
            {"records": 10, "deadline": DEADLINE, "sigma_0": 0.1},
        ),
        table(report={"records": None, "deadline": DEADLINE}, screening={"final_norm": 1.0}),
    ],
    "aggregation": [
        *(table(aggregation=value) for value in ("median", 0.25, None)),
        table(aggregation="trimmed", report={"deadline": DEADLINE}),
        table(
            aggregation="trimmed",
            screening={"final_norm": 1.0, "method": "votes", "threshold": 0.5},
        ),
    ],
    "report.sigma_0": [
        *section(
            "report",
            {"sigma_0": 0.1},
            {"records": None, "sigma_0": 1e-9},
            {"records": None, "sigma_0": 1e-300},
        ),
        table(report={"records": None, "sigma_0": 0.1}, privacy={"mechanism": "none"}),
    ],
    "report.deadline": section("report", {"deadline": -1}, {"deadline": "tomorrow"}),
    "report.max_delay": section("report", {"max_delay": -1e-12}, {"max_delay": 1e9}),
    "report.presence": section("report", {"presence": 1}),
    "screening.final_norm": [table(screening={}), *screening({"final_norm_factor": 1.0})],
    "screening.select": screening({"select": "majority"}),
    "screening.threshold": screening({"method": "votes"}),
    "screening.code": screening(
        {"code": "circle"}, {"method": "votes", "threshold": 1, "code": "simplex"}
    ),
    "screening.keep": screening({"keep": 4}),
    "screening.limit": screening({"limit": 0}),
    "screening.share": screening({"share": 0.0}, {"share": 1.0}),
    "screening.records": [
        *screening({"records": "other"}),
        table(1000, report={"records": 10**6}, screening={"final_norm": 1.0}),
    ],
    "dimension": [
        *(table(dimension=value) for value in (3, 0, "two")),
        table(dimension=2, screening={"final_norm": 1.0, "limit": 1, "keep": 1}),
    ],
    "epoch": [table(epoch=0)],
    "extra": [table(extra=1)],
    "clip": [table(clip=3)],
}


@pytest.mark.parametrize("field", WRONG)
def test_every_fault_is_named_with_its_value_and_remedy(field):
    for wrong in WRONG[field]:
        with pytest.raises(TaskError) as caught:
            task_from_table(wrong)
        assert caught.value.field == field
        assert len(caught.value.remedy) > 10
