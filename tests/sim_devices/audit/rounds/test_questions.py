"""No unit costs more than is booked for it in rounds, and mistakes are found."""

import math

import pytest

from sim_devices.audit.rounds.mistakes import mistakes
from sim_devices.audit.rounds.questions import ask, questions

QUESTIONS = {question.name: question for question in (*questions(), *mistakes())}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_has_the_expected_answer(name):
    question = QUESTIONS[name]
    assert ask(question).violated == question.violated


@pytest.mark.parametrize(
    "name",
    ["2 rounds, replaced in round 1", "52 rounds, replaced in round 1", "52 rounds, window"],
)
def test_the_bound_is_sharp_where_a_record_is_in_the_first_round(name):
    assert 0.999 < ask(QUESTIONS[name]).bound.epsilon <= 1.0


def test_the_figures_of_the_mistakes():
    found = {name: ask(question).bound.epsilon for name, question in QUESTIONS.items()}
    assert found["round made twice"] == pytest.approx(1.320, abs=0.001)
    assert found["norm forgotten"] == pytest.approx(1.239, abs=0.001)
    assert found["beyond the horizon"] == pytest.approx(1.272, abs=0.001)
    assert math.isinf(found["one key for two editions"])
    assert math.isinf(found["one label for two rounds"])
