"""What an owner reads about rounds."""

import pytest

from fsir.privacy.describe import describe
from fsir.privacy.rounds.words import rounds_in_words, told_by_rounds
from tests.fsir.privacy.rounds.tasks import small_task
from tests.fsir.tasks import task


def table(of):
    """Epsilon for one round and for all, by what they are about."""
    rows = [line.rsplit(maxsplit=2) for line in told_by_rounds(of)[4:]]
    return {name.strip(): (float(one), float(every)) for name, one, every in rows}


def test_a_task_of_one_round_says_nothing_of_rounds():
    of = small_task(rounds=1)
    assert rounds_in_words(of) == told_by_rounds(of) == []
    assert "round" not in describe(of).replace("rounding", "")


@pytest.mark.parametrize(
    ("report", "words"),
    [
        ({}, "as soon as its records are there and the one before was answered"),
        ({"every": 86400}, "made 1 day after the one before or later"),
        ({"every": 5400, "start": 2_000_000_000}, "begins at 2033-05-18T03:33:20+00:00, and each"),
        ({"every": 5400, "start": 2_000_000_000}, "lasts 90 minutes"),
    ],
)
def test_it_says_when_rounds_come(report, words):
    of = small_task(rounds=52, report={"records": 100, "rounds": 52, **report})
    assert "52 rounds, each about the next 100 records" in describe(of)
    assert words in describe(of)


def test_it_says_how_the_noise_hangs_together():
    assert "Their noise is correlated" in describe(small_task(rounds=3))
    independent = small_task(rounds=3, privacy={"epsilon": 1, "noise": "independent"})
    assert "new noise of its own" in describe(independent)


def test_a_record_is_told_what_the_task_says_and_a_habit_more():
    found = table(small_task(rounds=52))
    assert list(found) == [
        "any 1 record",
        "any 10 records",
        "any 100 records",
        "a habit, 1 record in each round",
    ]
    assert found["any 1 record"][1] == pytest.approx(1.0, rel=1e-2)
    assert all(one <= every for one, every in found.values())
    assert found["a habit, 1 record in each round"][1] > 10


@pytest.mark.parametrize("rule", ["same", "fresh"])
def test_both_stages_are_in_the_table(rule):
    of = task(
        6,
        screening={"keep": 2, "limit": 4, "final_norm": 1.5, "records": rule},
        report={"rounds": 4},
    )
    assert table(of)["any 1 record"][1] == pytest.approx(1.0, rel=1e-2)


def test_what_is_not_proven_has_no_table():
    of = small_task(rounds=3, privacy={"epsilon": 1, "mechanism": "none"})
    assert told_by_rounds(of) == []
