"""As an estimator among scikit-learn's, and without scikit-learn."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="NOT TESTED: scikit-learn is not installed")

from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from tests.fsir.fitted.made import ALL, numeric, plain, records

ROOT = Path(__file__).resolve().parents[3]
PLAIN = plain()

_LOOKS_AT_NOTHING = "what was learned came from the federation: fit looks neither at X nor at y"
_KNOWS_ITS_CLASSES = "classes are those of the task, and texts; the check brings others"
# The checks that a fitted subspace does not pass, and why: FrozenEstimator does not pass them
# either, and asks to be left out altogether.
EXPECTED = {
    "check_do_not_raise_errors_in_init_or_set_params": (
        "a task and a message of another task are refused at once, not with the first record"
    ),
    "check_n_features_in": "the features are known before fit",
    "check_complex_data": _LOOKS_AT_NOTHING,
    "check_dtype_object": _LOOKS_AT_NOTHING,
    "check_estimators_empty_data_messages": _LOOKS_AT_NOTHING,
    "check_estimators_nan_inf": _LOOKS_AT_NOTHING,
    "check_estimator_sparse_tag": _LOOKS_AT_NOTHING,
    "check_fit1d": _LOOKS_AT_NOTHING,
    "check_classifiers_train": _LOOKS_AT_NOTHING,
    "check_classifiers_regression_target": _LOOKS_AT_NOTHING,
    "check_supervised_y_no_nan": _LOOKS_AT_NOTHING,
    "check_supervised_y_2d": _LOOKS_AT_NOTHING,
    "check_classifiers_one_label": _KNOWS_ITS_CLASSES,
    "check_classifiers_classes": _KNOWS_ITS_CLASSES,
    # These compare predictions as numbers. Here the same is tested to the last bit: pickles and
    # copies below, order and subsets of records in test_subspace.py.
    "check_estimators_pickle": _KNOWS_ITS_CLASSES,
    "check_classifier_data_not_an_array": _KNOWS_ITS_CLASSES,
    "check_methods_sample_order_invariance": _KNOWS_ITS_CLASSES,
    "check_methods_subset_invariance": _KNOWS_ITS_CLASSES,
    "check_fit_idempotent": _KNOWS_ITS_CLASSES,
}
FEATURES = (2, 3, 4, 5, 10)  # that one or another of the checks brings: it cannot ask for fewer


@pytest.mark.filterwarnings("ignore")  # of the checks
def test_scikit_learn_s_own_checks():
    """Each with as many features as it brings; those that fail are those expected."""
    kept: dict[tuple[int, str], bool] = {}
    for p in FEATURES:
        subspace = plain(p, response={"classes": ["2", "0", "1"]})
        for k, found in enumerate(check_estimator(subspace, on_skip=None, on_fail=None)):
            which = (k, found["check_name"])
            kept[which] = kept.get(which, False) or found["status"] != "failed"
    failed = {name for (_, name), fine in kept.items() if not fine}
    assert failed == set(EXPECTED)
    assert sum(kept.values()) > 30


@pytest.mark.parametrize("made", ALL.values(), ids=ALL)
def test_copies_are_the_same_to_the_last_bit(made):
    subspace = made()
    X = records(subspace.task, 50)[0][:, : subspace.n_features_in_]
    copies = [clone(subspace), copy.deepcopy(subspace), pickle.loads(pickle.dumps(subspace))]
    copies.append(type(subspace)(**subspace.get_params()))
    for other in copies:
        assert other is not subspace
        assert np.array_equal(other.transform(X), subspace.transform(X))
        assert other.to_json() == subspace.to_json()


def test_it_is_fitted_and_what_it_is():
    check_is_fitted(PLAIN)
    assert is_classifier(PLAIN)
    assert not is_classifier(numeric())
    assert set(PLAIN.get_params()) == {"task", "message"}


def test_parameters_can_be_exchanged():
    other = plain(4, response={"classes": ["u", "v"]})
    turned = clone(PLAIN).set_params(**other.get_params())
    X = records(PLAIN.task, 20)[0]
    assert np.array_equal(turned.predict(X), other.predict(X))
    assert set(PLAIN.predict(X)) <= {"a", "b", "c"}


def test_frames_come_out_if_they_are_asked_for():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        records(PLAIN.task, 5)[0], columns=PLAIN.feature_names_in_, index=list("vwxyz")
    )
    Z = clone(PLAIN).set_output(transform="pandas").transform(frame)
    assert Z.columns.tolist() == ["direction_1", "direction_2"]
    assert Z.index.tolist() == list("vwxyz")
    assert np.array_equal(Z.to_numpy(), PLAIN.transform(frame))
    assert isinstance(PLAIN.transform(frame), np.ndarray)
    kept = clone(clone(PLAIN).set_output(transform="pandas"))
    assert list(kept.fit_transform(frame).columns) == ["direction_1", "direction_2"]


def test_in_a_pipeline_with_cross_validation_on_public_rows():
    X, y = records(PLAIN.task, 600, seed=5)
    alone = cross_val_score(PLAIN, X, y, cv=5)
    behind = cross_val_score(make_pipeline(PLAIN, LogisticRegression()), X, y, cv=5)
    assert np.mean(alone) == pytest.approx(PLAIN.score(X, y))
    assert np.mean(behind) > np.mean(y == "a") + 0.2
    chances = cross_val_predict(PLAIN, X, y, cv=3, method="predict_proba")
    assert np.array_equal(chances, PLAIN.predict_proba(X))


def test_scorers_that_rely_on_sorted_classes():
    turned = plain(response={"classes": ["c", "a", "b"]})
    X, y = records(turned.task, 600, seed=5)
    loss = -cross_val_score(turned, X, y, cv=3, scoring="neg_log_loss").mean()
    area = cross_val_score(turned, X, y, cv=3, scoring="roc_auc_ovr").mean()
    assert loss < np.log(3)
    assert area > 0.7


def test_a_number_is_explained_by_a_regression_on_top():
    X, y = records(numeric().task, 600, seed=5)
    assert cross_val_score(make_pipeline(numeric(), LinearRegression()), X, y, cv=5).mean() > 0.5


def test_beside_other_columns():
    pd = pytest.importorskip("pandas")
    X, y = records(PLAIN.task, 100)
    frame = pd.DataFrame(X, columns=PLAIN.feature_names_in_).assign(age=40.0)
    both = ColumnTransformer(
        [("fsir", PLAIN, list(PLAIN.feature_names_in_)), ("own", "passthrough", ["age"])]
    )
    both.fit(frame, y)
    assert both.get_feature_names_out().tolist() == [
        "fsir__direction_1",
        "fsir__direction_2",
        "own__age",
    ]


def test_a_notebook_shows_it_without_its_thousands_of_numbers():
    small, large = (make_pipeline(plain(p), LogisticRegression())._repr_html_() for p in (4, 60))
    assert "Subspace" in large
    assert len(large) < len(small) + 2000


WITHOUT = """
import sys
for name in ("sklearn", "pandas", "matplotlib", "scipy"):
    sys.modules[name] = None
import fsir
subspace = fsir.load(sys.argv[1])
X = [[0.1, 0.2, 0.3, 0.4]]
for method in (subspace.transform, subspace.predict, subspace.predict_proba):
    print(method(X).tolist())
print(subspace.get_feature_names_out().tolist(), subspace.fit_transform(X).shape, subspace.classes_)
print(subspace.score(X * 2, ["a", "b"]) <= 1.0, sorted(subspace.get_params()))
for needs in (subspace.plot, subspace.loadings):
    try:
        needs()
    except fsir.FsirError as error:
        print(isinstance(error, ImportError), error)
"""


def test_it_works_without_scikit_learn_pandas_and_matplotlib(tmp_path):
    PLAIN.export(tmp_path / "s.json")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path / "s.json")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    X = [[0.1, 0.2, 0.3, 0.4]]
    assert done.stdout.splitlines() == [
        str(PLAIN.transform(X).tolist()),
        str(PLAIN.predict(X).tolist()),
        str(PLAIN.predict_proba(X).tolist()),
        "['direction_1', 'direction_2'] (1, 2) ['a' 'b' 'c']",
        "True ['message', 'task']",
        "True matplotlib is not installed: pip install matplotlib",
        "True pandas is not installed: pip install pandas",
    ]
