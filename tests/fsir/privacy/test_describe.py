"""The page for the owner says what leaves, when, and how well it is protected."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fsir.privacy import accounting
from fsir.privacy.claims import odds_factor, total_cost
from fsir.privacy.describe import describe
from fsir.privacy.plan import minimum_size
from tests.fsir.tasks import mapped, screened, shared, task

PLAIN = task(
    5,
    privacy={"epsilon": 1.5, "delta": 1e-5, "unit_records": 4},
    report={"max_delay": 60, "records": 250},
)


def test_names_the_budget_and_the_unit_it_protects():
    page = describe(PLAIN)
    assert "epsilon 1.5 at delta 1e-05" in page
    assert "any 4 consecutive records" in page
    assert "Take any two contents of any 4 consecutive records" in page
    assert "per one record" in describe(task(5))
    assert "NOT PROVEN" not in page


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 1.5, 3.0, 8.0, 20.0])
def test_the_odds_are_those_that_hold_except_with_probability_delta(epsilon):
    """Not e^epsilon, which they exceed more often; three digits, and never below the truth."""
    asked = task(5, privacy={"epsilon": epsilon})
    pattern = r"factor of at most (\S+) .*\n.* before rounding, (\S+)\), except with .* 1e-06"
    said = re.search(pattern, describe(asked))
    factor = odds_factor(asked)
    assert factor <= float(said[1]) < 1.01 * factor
    unrounded = accounting.odds_factor(total_cost(asked), 1e-6)
    assert unrounded <= float(said[2]) < 1.01 * unrounded


def test_version_2_counts_what_is_offered_and_version_1_what_is_accepted():
    second = describe(PLAIN)
    first = describe(replace(PLAIN, version=1))
    assert "250 records have been offered" in second
    assert "One that cannot be used counts as empty" in second
    assert "(empty is one of them)" in second
    assert "250 records have been accepted" in first
    assert "empty" not in first
    assert "NOT PROTECTED is which records are refused" in first
    assert "NOT PROTECTED" not in second


@pytest.mark.parametrize("mechanism", ["vgm", "none"])
def test_an_unproven_mechanism_is_called_that(mechanism):
    page = describe(task(5, privacy={"mechanism": mechanism, "epsilon": 2.0, "unit_records": 3}))
    assert "NOT PROVEN" in page
    assert "epsilon 2 at delta 1e-06 per any 3 consecutive records; do not rely on it" in page
    assert "Proven:" not in page
    assert "factor of at most" not in page


def test_the_classical_mechanism_is_judged_by_its_exact_cost():
    assert "NOT PROVEN" not in describe(task(5, privacy={"mechanism": "iid"}))
    assert "NOT PROVEN" in describe(
        task(5, privacy={"mechanism": "iid", "epsilon": 100.0, "delta": 1e-3})
    )


def test_says_what_leaves_the_device_and_when():
    page = describe(PLAIN)
    assert "33 noisy numbers" in page  # 15 sums, 3 counts, 15 second moments
    assert "when 250 records have been offered, after a random delay of up to 60 s" in page
    assert "No presence messages" in page
    assert PLAIN.digest.hex()[:16] in page
    assert "3 classes: a, b, c" in page
    assert "tell when the device is on" in describe(task(5, report={"presence": True}))


def test_a_deadline_is_a_date():
    dated = task(5, report={"records": 900, "deadline": 1796083200, "sigma_0": 0.5})
    page = describe(dated)
    assert "2026-12-01T00:00:00+00:00" in page
    assert f"(at least {minimum_size(dated)}, at most 900)" in page


def test_the_number_of_records_is_said_to_be_unprotected_where_it_is():
    by_date = task(5, report={"records": 900, "deadline": 1796083200})
    dated = describe(by_date)
    assert "WITHOUT NOISE: so many came, whatever was in them" in dated
    assert "NOT PROTECTED" in dated
    assert "NOT PROTECTED" not in describe(PLAIN)
    assert "WITHOUT NOISE: so many had a response" in describe(replace(by_date, version=1))


def test_trimming_is_mentioned_and_said_to_change_nothing_for_the_owner():
    page = describe(task(5, aggregation="trimmed"))
    plain = describe(task(5))
    assert "lying device" in page
    assert "changes nothing about what this device gives away" in page
    assert "lying" not in plain


def test_two_reports_are_two_lines():
    dense = describe(screened(6))
    votes = describe(screened(6, method="votes", threshold=0.3))
    first = "screening report: 21 noisy numbers (sums per slice, and counts, of all 6 features)"
    assert f"1. {first}" in dense
    assert "2. final report" in dense
    assert "at most 4 active" in dense
    assert "names of features" in votes
    numbers = describe(task(5, response={"classes": None, "cuts": [0.0, 1.0]}))
    assert "a number, in 3 intervals" in numbers


LEAVES = """\
What would leave the device:
  1. final report: 18 noisy numbers (sums per slice, counts and second moments of 3 mapped numbers)
  Each is sent once; a retry repeats the same bytes.
  Before anything is added up, each record is turned into 3 numbers by a public map, minus the \
public mean of its own class.
  Both come from 300 public records: they are public constants, part of the task and the same for \
everybody. A record is mapped alone.
  It leaves when 100 records have been offered. One that cannot be used counts as empty.
"""
CENTRED = """\
  1. final report: 42 noisy numbers (sums per slice, counts and second moments of all 6 features)
  Each is sent once; a retry repeats the same bytes.
  Before anything is added up, the public mean of its own class is taken away from each record.
  The means come from 300 public records: they are public constants, part of the task and the same \
for everybody. A record is mapped alone.
"""


CHECKED = """\
  1. final report: 25 noisy numbers (sums per slice, counts and second moments of 3 mapped numbers \
and a check)
"""
RULE = """\
A record is mapped alone.
  The check is one more number of each record, which is added up like the others: whether the \
public rule names its
  class rightly, that is, whether of all public means the one of its own class is nearest.
  It leaves when
"""


def test_a_check_of_the_public_rule_is_told_in_words():
    page = describe(mapped(6, 3, check=1.0))
    assert CHECKED in page
    assert RULE.rstrip() in page
    assert "of all 6 features and a check" in describe(mapped(6, identity=True, check=1.0))
    assert "check" not in describe(mapped(6, 3))


def test_a_public_map_and_public_centres_are_told_in_words():
    assert LEAVES in describe(mapped(6, 3))
    assert CENTRED in describe(mapped(6, identity=True))
    numbers = mapped(6, 3, response={"classes": None, "cuts": [0.0, 1.0]})
    assert "public mean of its own interval." in describe(numbers)
    assert "public" not in describe(task(6))


def test_two_aggregators_are_named_with_three_promises():
    text = describe(shared(groups=5))
    assert "'hospital' and 'university' in two sealed shares" in text
    assert "sums over at least 20 devices" in text
    assert "in 5 groups" in text
    assert "if one of 'hospital' and 'university' is honest: epsilon 1." in text
    assert "'hospital' and 'university' together: epsilon 5.22" in text
    assert "the broker and the network: epsilon 0" in text
    assert "theorems 1 and 15" in text
    assert "groups" not in describe(shared())
    assert "NOT PROVEN" in describe(shared(privacy={"mechanism": "none"}))
