"""Records on the directions of a subspace, and their class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsir.errors import MessageError, RecordError
from fsir.estimate.projection import Projector
from fsir.wire.messages import Classifier, Subspace
from tests.fsir.tasks import task

BASIS = np.array([[1.0, 0.5], [-2.0, 0.25]])
TASK = task(
    3,
    features={"centre": [1.0, 2.0, 3.0], "scale": [1.0, 2.0, 4.0]},
    clip={"truncate": 2.0, "norm": 1.5},
)
CLASSIFIER = Classifier(
    ("a", "b", "c"), np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.zeros(3), np.zeros((3, 2))
)
SUBSPACE = Subspace(
    task=TASK.digest,
    version=1,
    features=("x2", "x0"),
    basis=BASIS,
    singular_values=np.ones(2),
    noise_level=0.1,
    expected_error=0.1,
    devices=3,
    records=300,
    classifier=CLASSIFIER,
)


def test_records_are_standardised_in_the_order_of_the_subspace():
    X = np.array([[7.0, 2.0], [3.0, 1.0]])  # x2, x0
    np.testing.assert_allclose(
        Projector(TASK, SUBSPACE).project(X), [BASIS.T @ [1.0, 1.0], [0.0, 0.0]]
    )


def test_a_record_is_classified_as_the_clipped_record_it_would_have_been():
    projector = Projector(TASK, SUBSPACE)
    near = np.array([[3.0, 0.6]])
    far = np.array([[3.0, 1.0 - 400.0]])
    at_the_clip = np.array([[3.0, 1.0 - 1.5]])
    assert projector.classify(far)[0] == projector.classify(near)[0] == ["a"]
    assert projector.classify(far)[1] == pytest.approx(projector.classify(at_the_clip)[1], abs=1e-3)


def test_confidence_is_the_probability_of_the_named_class():
    X = np.random.default_rng(0).normal(3.0, 2.0, (50, 2))
    projector = Projector(TASK, SUBSPACE)
    labels, confidence = projector.classify(X)
    assert set(labels) <= {"a", "b", "c"}
    assert ((confidence >= 1 / 3) & (confidence <= 1.0)).all()
    sure = np.array([[3.0, -5.0]])
    unsure = np.array([[3.0, 1.0]])
    assert projector.classify(sure)[1] > projector.classify(unsure)[1]


@pytest.mark.parametrize(
    "X", [np.zeros((2, 3)), np.zeros(2), np.array([[np.nan, 0.0]]), np.array([[np.inf, 0.0]])]
)
def test_rows_that_are_no_records_are_refused(X):
    with pytest.raises(RecordError):
        Projector(TASK, SUBSPACE).project(X)


def test_what_does_not_belong_together_is_refused():
    with pytest.raises(MessageError, match="another task"):
        Projector(replace(TASK, epoch=2), SUBSPACE)
    with pytest.raises(MessageError, match="unknown"):
        Projector(TASK, replace(SUBSPACE, features=("x2", "unknown")))
    with pytest.raises(RecordError, match="no classifier"):
        Projector(TASK, replace(SUBSPACE, classifier=None)).classify(np.zeros((1, 2)))


def test_confidence_is_that_of_scores_over_the_temperature():
    X = np.array([[7.0, 2.0], [1.0, 1.5]])
    labels, sure = Projector(TASK, SUBSPACE).classify(X)
    cooled = replace(SUBSPACE, classifier=replace(CLASSIFIER, temperature=4.0))
    same, doubting = Projector(TASK, cooled).classify(X)
    assert same == labels
    odds = np.log(sure / (1 - sure))
    assert (doubting < sure).all()
    assert (np.log(doubting / (1 - doubting)) < odds).all()


def test_a_classifier_may_have_directions_of_its_own():
    own = replace(CLASSIFIER, basis=BASIS)
    shown = replace(SUBSPACE, basis=BASIS[:, :1], classifier=own)
    X = np.array([[7.0, 2.0], [3.0, 1.0], [-4.0, 0.5]])
    assert Projector(TASK, shown).classify(X)[0] == Projector(TASK, SUBSPACE).classify(X)[0]
    assert Projector(TASK, shown).project(X).shape == (3, 1)


def test_an_answer_that_nobody_should_rely_on_comes_with_the_reason():
    rare = replace(CLASSIFIER, doubtful=("b",), guess=0.5)
    projector = Projector(TASK, replace(SUBSPACE, classifier=rare, expected_accuracy=0.9))
    assert projector.doubt("a") is None
    assert "'b' was reported" in projector.doubt("b")
    useless = replace(SUBSPACE, classifier=rare, expected_accuracy=0.4)
    said = Projector(TASK, useless).doubt("a")
    assert "no more often (0.40)" in said
    assert "commonest class (0.50)" in said
    assert Projector(TASK, replace(SUBSPACE, classifier=None)).doubt("a") is None
