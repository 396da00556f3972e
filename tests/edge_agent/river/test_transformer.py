"""FSIR as a River transformer."""

from __future__ import annotations

import doctest
import itertools
import random

import numpy as np
import pytest

pytest.importorskip("river", reason="NOT TESTED: the extra [river] is not installed")

from river import checks, linear_model, metrics, naive_bayes, preprocessing, stream

import edge_agent.river.transformer
from edge_agent.river.transformer import FSIR
from fsir.estimate.subspace import projection_loss


@pytest.mark.filterwarnings("default")  # of River's own data sets and of pandas
@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{check.__name__}-{k}")
        for k, check in enumerate(checks.yield_checks(FSIR()))
    ],
)
def test_river_checks(check):
    for params in FSIR._unit_test_params():
        check(FSIR(**params))


def test_the_example_in_its_documentation():
    results = doctest.testmod(edge_agent.river.transformer)
    assert results.attempted > 5
    assert results.failed == 0


def two_directions(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) @ np.diag([1.0, 5.0, 0.2, 1.0, 1.0, 1.0])
    Y = np.where(X[:, 0] > 0.5, "right", np.where(X[:, 2] > 0.05, "up", "down"))
    for x, y in zip(X.tolist(), Y.tolist(), strict=True):
        yield dict(zip("abcdef", x, strict=True)), y


def test_it_finds_the_directions_whatever_the_scales():
    model = FSIR(n_components=2)
    for x, y in two_directions(4000):
        model.learn_one(x, y)
    responses = []
    for name in "abcdef":
        one = model.transform_one(dict.fromkeys("abcdef", 0.0) | {name: 1.0})
        none = model.transform_one(dict.fromkeys("abcdef", 0.0))
        responses.append([one[key] - none[key] for key in one])
    truth = np.eye(6)[:, [0, 2]]
    assert projection_loss(np.array(responses), truth) < 0.2


def test_directions_do_not_jump_when_they_are_estimated_anew():
    model = FSIR(n_components=2)
    probe = {"a": 1.0, "b": 5.0, "c": 0.2, "d": 1.0, "e": -1.0, "f": 0.5}
    seen = []
    for x, y in two_directions(6000):
        model.learn_one(x, y)
        seen.append(list(model.transform_one(probe).values()) or [np.nan, np.nan])
    late = np.array(seen[1000:])
    assert np.abs(np.diff(late, axis=0)).max() < 0.35


@pytest.mark.parametrize(
    "upstream", [None, preprocessing.StandardScaler, preprocessing.MinMaxScaler]
)
def test_it_composes(upstream):
    rest = FSIR(n_components=2) | linear_model.SoftmaxRegression()
    model = rest if upstream is None else upstream() | rest
    metric = metrics.Accuracy()
    for x, y in two_directions(3000):
        if (guess := model.predict_one(x)) is not None:
            metric.update(y, guess)
        model.learn_one(x, y)
    assert metric.get() > 0.75


def test_numeric_targets_are_cut_into_slices():
    rng = random.Random(0)
    model = FSIR(n_components=1)
    for _ in range(3000):
        x = {k: rng.gauss(0, 1) for k in range(5)}  # River allows any hashable as a name
        model.learn_one(x, (x[0] + x[3]) ** 3 + rng.gauss(0, 0.1))
    z = model.transform_one({0: 1.0, 1: 0.0, 2: 0.0, 3: -1.0, 4: 0.0})["fsir_0"]
    zero = model.transform_one(dict.fromkeys(range(5), 0.0))["fsir_0"]
    along = model.transform_one({0: 1.0, 1: 0.0, 2: 0.0, 3: 1.0, 4: 0.0})["fsir_0"]
    assert abs(z - zero) < 0.1 * abs(along - zero)


def test_coordinates_come_with_the_tenth_record():
    model = FSIR(n_components=2)
    probe = dict.fromkeys("abcdef", 0.5)
    sizes = []
    for x, y in itertools.islice(two_directions(40), 40):
        model.learn_one(x, y)
        sizes.append(len(model.transform_one(probe)))
    assert sizes[:9] == [0] * 9
    assert sizes[9:] == [2] * 31


def test_it_is_of_use_long_before_it_is_warm():
    """Without anything to go by, a hundred records would be named by chance."""
    records = list(two_directions(100, seed=3))
    model = FSIR(n_components=2) | naive_bayes.GaussianNB()
    right = 0
    for x, y in records:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    assert right > 65


def test_a_class_that_comes_late_is_learned():
    """Its direction is that of feature d, which told nothing before."""
    rng = np.random.default_rng(0)
    model = FSIR(n_components=3, warm_up=50)
    for k in range(3000):
        x = dict(zip("abcd", rng.normal(size=4).tolist(), strict=True))
        late = k > 500 and k % 3 == 0
        y = "late" if late else ("up" if x["a"] > 0 else "down")
        model.learn_one(x | ({"d": x["d"] + 3.0} if late else {}), y)
        if k == 400:
            assert len(model.transform_one(x)) == 1
    zero = dict.fromkeys("abcd", 0.0)
    step = np.subtract(
        list(model.transform_one(zero | {"d": 3.0}).values()),
        list(model.transform_one(zero).values()),
    )
    assert len(step) == 2
    assert np.linalg.norm(step) > 1.0


def test_features_that_say_the_same_do_no_harm():
    """A constant, a copy and a sum of others: their covariance has no inverse."""
    alone = FSIR(n_components=2)
    crowded = FSIR(n_components=2)
    metric = {}
    for name, model in (("alone", alone), ("crowded", crowded)):
        pipeline = model | naive_bayes.GaussianNB()
        accuracy = metrics.Accuracy()
        for x, y in two_directions(2000):
            more = (
                {"copy": x["a"], "sum": x["a"] + x["c"], "same": 7.0} if name == "crowded" else {}
            )
            accuracy.update(y, pipeline.predict_one(x | more))
            pipeline.learn_one(x | more, y)
        metric[name] = accuracy.get()
    assert abs(metric["alone"] - metric["crowded"]) < 0.02
    assert metric["crowded"] > 0.75


def test_one_class_only_waits_with_bounded_memory():
    model = FSIR(warm_up=50)
    for _ in range(1000):
        model.learn_one({"a": 1.0}, "same")
    assert model.transform_one({"a": 1.0}) == {}
    assert model._local.n < 50


@pytest.mark.parametrize("arguments", [{"n_components": 0}, {"warm_up": 1}, {"slices": 1}])
def test_arguments_out_of_range(arguments):
    with pytest.raises(ValueError, match="at least"):
        FSIR(**arguments)


def test_mini_batches_are_the_same_as_single_records():
    pd = pytest.importorskip("pandas")
    records = list(two_directions(500))
    one = FSIR(warm_up=60)
    many = FSIR(warm_up=60)
    for x, y in records:
        one.learn_one(x, y)
    for start in range(0, 500, 70):
        chunk = records[start : start + 70]
        many.learn_many(pd.DataFrame([x for x, _ in chunk]), pd.Series([y for _, y in chunk]))
    probe = pd.DataFrame([x for x, _ in records[:5]], index=[10, 20, 30, 40, 50])
    coordinates = many.transform_many(probe)
    assert list(coordinates.index) == [10, 20, 30, 40, 50]
    for (x, _), row in zip(records[:5], coordinates.to_dict("records"), strict=True):
        assert one.transform_one(x) == row
    assert list(stream.iter_array([[1.0]], [1]))  # River's streams feed it as they are
