"""A fitted subspace gives what devices serve, and takes the tables that people have."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from edge_agent.learning.projection import Projection
from fsir.errors import FsirError, MessageError
from fsir.fitted.errors import InputError
from fsir.fitted.subspace import Subspace
from tests.fsir.fitted.made import ALL, numeric, of_mapped, of_screened, plain, records

PLAIN = plain()
CLASSIFIED = sorted(set(ALL) - {"numeric"})


@pytest.fixture(scope="module", params=sorted(ALL))
def subspace(request):
    return ALL[request.param]()


@pytest.fixture(scope="module", params=CLASSIFIED)
def classified(request):
    return ALL[request.param]()


def rows(subspace: Subspace, n: int = 300) -> np.ndarray:
    """Raw rows over the features of a subspace, some of them far out."""
    X = records(subspace.task, n, seed=99)[0]
    X[::7] *= 20.0
    return X[:, list(subspace.task.features.indices(subspace.message.features))]


def served(subspace: Subspace, X: np.ndarray) -> list[dict]:
    """The lines that a device writes about these records, one after the other."""
    projection = Projection(subspace.task, subspace.message)
    names = subspace.message.features
    records = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    return [json.loads(json.dumps(projection.serve(record))) for record in records]


# --- the same bits as on a device -----------------------------------------------------------------


def test_transform_is_what_devices_serve_to_the_last_bit(subspace):
    X = rows(subspace)
    assert subspace.transform(X).tolist() == [line["z"] for line in served(subspace, X)]


def test_class_and_confidence_are_what_devices_serve(classified):
    X = rows(classified)
    chances = classified.predict_proba(X)
    named = zip(classified.predict(X), chances, classified.doubt(X), strict=True)
    for line, (label, chance, doubt) in zip(served(classified, X), named, strict=True):
        if doubt is None:
            assert line["class"] == label
            assert line["confidence"] == round(float(chance.max()), 6)
        else:
            assert line["doubt"] == doubt
            assert "class" not in line


@pytest.mark.parametrize("many", [1, 2, 7, 300])
def test_a_record_gets_the_same_bits_among_any_number_of_others(classified, many):
    X = rows(classified)
    parts = [X[start : start + many] for start in range(0, len(X), many)]
    for method in (classified.transform, classified.predict_proba):
        assert np.array_equal(np.concatenate([method(part) for part in parts]), method(X))
        assert np.array_equal(method(X[::-1]), method(X)[::-1])
        assert np.array_equal(method(np.asfortranarray(X)), method(X))


def test_a_doubtful_class_is_named_and_the_doubt_told():
    rare = replace(PLAIN.message.classifier, doubtful=("b",))
    doubting = Subspace(PLAIN.task, replace(PLAIN.message, classifier=rare))
    X = rows(PLAIN)
    labels = doubting.predict(X)
    assert np.array_equal(labels, PLAIN.predict(X))
    assert set(labels) == {"a", "b", "c"}
    assert [text is not None for text in doubting.doubt(X)] == [label == "b" for label in labels]


# --- what comes in and out ------------------------------------------------------------------------


def test_chances_stand_in_the_order_of_sorted_classes():
    turned = plain(response={"classes": ["c", "a", "b"]})
    assert turned.classes_.tolist() == ["a", "b", "c"]
    X = rows(turned)
    chances = turned.predict_proba(X)
    assert np.allclose(chances.sum(axis=1), 1.0)
    assert np.array_equal(turned.classes_[chances.argmax(axis=1)], turned.predict(X))


def test_columns_of_a_frame_are_taken_by_name_and_others_left_alone():
    pd = pytest.importorskip("pandas")
    X = rows(PLAIN, 20)
    frame = pd.DataFrame(X, columns=PLAIN.feature_names_in_)
    shuffled = frame[["x2", "x0", "x3", "x1"]].assign(who="somebody")
    assert np.array_equal(PLAIN.transform(shuffled), PLAIN.transform(X))
    assert np.array_equal(PLAIN.predict(shuffled), PLAIN.predict(X))
    with pytest.raises(InputError, match=r"lacks 2 of 4 features: 'x1', 'x3'; X has 'x0', 'x2'"):
        PLAIN.transform(frame[["x0", "x2"]])


def test_a_screened_subspace_takes_the_features_that_were_chosen():
    screened = of_screened()
    assert screened.feature_names_in_.tolist() == ["x4", "x0", "x1"]
    assert screened.n_features_in_ == 3
    with pytest.raises(InputError, match="X has 6 features, but Subspace is expecting 3"):
        screened.transform(np.zeros((2, 6)))


def test_names_of_what_comes_out():
    assert of_mapped().get_feature_names_out().tolist() == ["direction_1"]
    assert PLAIN.get_feature_names_out().tolist() == ["direction_1", "direction_2"]
    assert PLAIN.get_feature_names_out(["x0", "x1", "x2", "x3"]).tolist()[0] == "direction_1"
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        PLAIN.get_feature_names_out(["a", "b", "c", "d"])


def test_loadings_are_a_frame_of_the_directions():
    pytest.importorskip("pandas")
    frame = PLAIN.loadings()
    assert frame.loc["x2", "direction_1"] == PLAIN.message.basis[2, 0]


def test_no_rows_are_no_rows():
    assert PLAIN.transform(np.empty((0, 4))).shape == (0, 2)
    assert PLAIN.predict_proba(np.empty((0, 4))).shape == (0, 3)
    assert PLAIN.predict(np.empty((0, 4))).tolist() == []


# --- what it is not -------------------------------------------------------------------------------


def test_fitting_changes_nothing():
    X, y = records(PLAIN.task, 50)
    before = PLAIN.transform(X)
    assert PLAIN.fit(X[:, :2], y) is PLAIN
    assert np.array_equal(PLAIN.fit_transform(X, y), before)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "doubt"])
def test_a_number_has_no_class(method):
    with pytest.raises(InputError, match=r"'delay' is a number.*use transform, and a regression"):
        getattr(numeric(), method)(np.zeros((1, 4)))
    assert not hasattr(numeric(), "classes_")
    assert numeric().transform(np.zeros((1, 4))).shape == (1, 1)


def test_what_does_not_belong_together_is_refused_at_once():
    with pytest.raises(MessageError, match="another task"):
        Subspace(replace(PLAIN.task, epoch=2), PLAIN.message)


def test_a_label_is_its_text():
    counted = plain(response={"classes": ["0", "1", "2"]})
    X, y = records(counted.task, 200)
    right = counted.score(X, y)
    assert right == counted.score(X, y.astype(int)) == np.mean(counted.predict(X) == y) > 0.5
    weights = np.where(counted.predict(X) == y, 1.0, 0.0)
    assert counted.score(X, y, sample_weight=weights) == 1.0
    with pytest.raises(InputError, match=r"y holds 0\.5; classes of this task are 0, 1, 2"):
        counted.score(X, np.full(200, 0.5))


def test_it_says_what_it_is():
    assert repr(PLAIN) == "<Subspace 'test': 4 features -> 2 directions, 3 classes, 8 devices>"
    assert repr(numeric()) == "<Subspace 'test': 4 features -> 1 direction, 8 devices>"


def test_its_errors_are_of_this_project():
    assert issubclass(InputError, FsirError)
    assert issubclass(InputError, ValueError)
