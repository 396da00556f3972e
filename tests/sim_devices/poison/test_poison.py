"""Lying devices: what validation lets through, what it does to each aggregation,
and what bounding it costs."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.core import Aggregator
from aggregator.store.sqlite import SqliteStore
from fsir.contract import task_from_table
from fsir.errors import TaskError
from fsir.estimate.subspace import projection_loss
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace
from fsir.wire.plausible import allowed_sizes, implausible
from sim_devices.poison.aggregation import AGGREGATIONS, GroupMedian, Plain, Trimmed
from sim_devices.poison.attack import Admission, Search
from sim_devices.poison.measure import Measurement, liars_of
from sim_devices.poison.outcome import Estimator, angle, loss
from sim_devices.poison.population import Population, Setting
from tests.aggregator.federations import make_task

pytestmark = pytest.mark.long

SETTING = Setting(model="I", devices=12, n=300)


@pytest.fixture(scope="module")
def population():
    return Population(SETTING)


@pytest.fixture(scope="module")
def draws(population):
    rng = np.random.default_rng(1)
    return [population.draw(rng) for _ in range(3)]


@pytest.fixture(scope="module")
def admission(population, draws):
    return Admission(
        population.stage, SETTING.n, np.mean([draw.rows.mean(axis=0) for draw in draws], axis=0)
    )


def estimator_of(stage, setting, aggregate):
    return Estimator(
        stage=stage,
        devices=setting.devices,
        n=setting.n,
        d=setting.d,
        inflation=aggregate.inflation(setting.devices),
    )


def blocks_of(stage, row):
    ends = np.cumsum(stage.sizes)[:-1]
    return tuple(np.split(row.astype(np.int64), ends))


def test_rows_are_reports_of_the_agents_own_arithmetic(population):
    rng = np.random.default_rng(2)
    task = SETTING.task()
    truth = population.draw(rng).truth
    X, slices = population._records(truth, np.random.default_rng(3))
    moments = Moments(task, population.stage)
    moments.learn_many(X, slices.astype(float))  # the only cut is at 0.5
    exact = population._exact(truth, np.random.default_rng(3))
    blocks = release(moments, _Silent()).blocks
    steps = [block.step for block in population.stage.blocks]
    for block, step, values in zip(blocks_of(population.stage, exact), steps, blocks, strict=True):
        assert np.abs(block / step - values).max() <= 0.5


class _Silent:
    """Noise of zero: only the rounding stays."""

    def perturb(self, values, sd, step):
        return np.floor(values / step + 0.5).astype(np.int64)


def test_devices_may_lack_slices_and_still_have_all_their_records():
    population = Population(Setting(model="III", devices=2, n=200, lacking=0.5))
    counts = blocks_of(
        population.stage, population._exact(np.eye(10)[:, :2], np.random.default_rng(1))
    )[1]
    assert counts.sum() == 200
    assert (counts > 0).sum() == 4


def test_honest_rows_pass_validation(population, draws, admission):
    assert admission.passes(np.concatenate([draw.rows for draw in draws])).all()


def published(path, task, rows):
    """What the real aggregator publishes when devices send these reports."""
    made = Aggregator(SqliteStore(path), [task])
    made.start(0.0)
    for i, row in enumerate(rows):
        report = messages.Report(
            task=task.digest,
            device=f"d{i}",
            stage="final",
            n=SETTING.n,
            blocks=blocks_of(first_stage(task), row),
        )
        made.take(messages.topic(task.name, "report", f"d{i}"), messages.encode(report))
    made.commit(1.0)
    assert made.verdicts[task.name, "counted"] == len(rows)
    (publication,) = made.estimate(2.0)
    made.store.close()
    return decode(publication.payload, Subspace)


@pytest.mark.parametrize("name", ["sum", "trimmed"])
def test_what_is_measured_here_is_what_a_task_gives(tmp_path, population, draws, name):
    task = task_from_table(SETTING.task().table() | {"aggregation": name})
    shipped = published(tmp_path / "s.db", task, draws[0].rows).basis
    aggregate = AGGREGATIONS[name]
    estimator = estimator_of(population.stage, SETTING, aggregate)
    assert projection_loss(shipped, estimator(aggregate(draws[0].rows))) < 1e-6


def test_a_trimmed_task_withstands_the_liars_that_turn_a_sum(tmp_path):
    """One in twenty lies as badly as it can against the aggregation in question,
    over the real aggregator."""
    setting = Setting(model="I", devices=40, n=SETTING.n)
    population = Population(setting)
    rng = np.random.default_rng(8)
    plans = [population.draw(rng) for _ in range(2)]
    trial = population.draw(rng)
    limits = Admission(
        population.stage, setting.n, np.mean([draw.rows.mean(axis=0) for draw in plans], axis=0)
    )
    loss_of = {}
    for name in ("sum", "trimmed"):
        aggregate = AGGREGATIONS[name]
        estimator = estimator_of(population.stage, setting, aggregate)
        lie = Search(plans, 2, aggregate, estimator, limits).run(
            np.random.default_rng(9), starts=2, rounds=6
        )
        task = task_from_table(setting.task().table() | {"aggregation": name})
        for liars in (0, 2):
            rows = np.concatenate([trial.rows[liars:], np.tile(lie, (liars, 1))])
            subspace = published(tmp_path / f"{name}{liars}.db", task, rows)
            loss_of[name, liars] = projection_loss(subspace.basis, trial.truth)
    assert loss_of["sum", 2] > 5.0 * loss_of["sum", 0]
    assert loss_of["trimmed", 2] < 0.3 * loss_of["sum", 2]
    assert loss_of["trimmed", 0] < 1.5 * loss_of["sum", 0]


def test_loss_and_angle_on_known_spaces():
    A = np.eye(4)[:, :2]
    B = np.eye(4)[:, 1:3]
    assert loss(A, A) == pytest.approx(0.0, abs=1e-7)
    assert loss(A, B) == pytest.approx(2**0.5)
    assert angle(A, B) == pytest.approx(90.0)
    assert angle(A, A @ np.array([[2.0, 1.0], [0.0, 1.0]])) == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("bounded", [Trimmed(), GroupMedian()])
def test_one_device_moves_a_bounded_aggregation_by_a_bounded_amount(bounded):
    rows = np.random.default_rng(4).normal(size=(30, 5))
    near = rows.copy()
    far = rows.copy()
    near[7] = 1e3
    far[7] = 1e15
    assert bounded(near) == pytest.approx(bounded(far))
    assert np.abs(bounded(far) - bounded(rows)).max() < 1.0
    assert np.abs(Plain()(near) - Plain()(rows)).max() > 30.0


@pytest.mark.parametrize("aggregate", AGGREGATIONS.values(), ids=AGGREGATIONS.keys())
def test_the_stated_price_is_the_real_one(aggregate):
    rows = np.random.default_rng(5).normal(size=(4000, 300, 2))
    assert aggregate(rows).var() * 300 == pytest.approx(aggregate.inflation(300), rel=0.06)


def test_extreme_reports_are_at_the_edge_of_what_passes(population, admission):
    rng = np.random.default_rng(6)
    for _ in range(5):
        direction = rng.normal(size=len(admission.honest))
        row = admission.extreme(direction, np.zeros_like(direction))
        assert implausible(population.stage, SETTING.n, blocks_of(population.stage, row)) is None
        for block in admission.blocks:
            beyond = row.copy()
            beyond[block] = admission.honest[block] + 1.3 * (row[block] - admission.honest[block])
            assert not admission.passes(beyond[None])[0]


def test_the_search_does_harm_and_its_report_passes(population, draws, admission):
    estimator = estimator_of(population.stage, SETTING, Plain())
    search = Search(draws, 1, Plain(), estimator, admission)
    report = search.run(np.random.default_rng(7), starts=2, rounds=4)
    assert admission.passes(report[None])[0]
    assert search.harm(report) > 2.0 * search.harm(admission.honest)


def test_a_bounded_aggregation_is_turned_less_and_costs_little():
    measurement = Measurement(Setting(model="I", devices=30, n=300), seed=1, plans=2, tries=6)
    plain, bounded = (measurement.cell(AGGREGATIONS[name], 2) for name in ("sum", "trimmed"))
    assert bounded.loss < 0.6 * plain.loss
    assert bounded.angle < plain.angle
    prices = [measurement.cell(AGGREGATIONS[name], 0).loss for name in ("sum", "trimmed")]
    assert prices[1] < 1.5 * prices[0]
    assert measurement.cell(Plain(), 0).angle == pytest.approx(0.0, abs=1e-4)


def test_with_a_deadline_no_report_counts_for_more_than_the_task_says():
    """Without a limit one liar could claim all the records that there can be,
    and be the federation by itself."""
    with pytest.raises(TaskError, match="at most how many"):
        make_task(report={"deadline": 2_000_000_000})
    assert allowed_sizes(make_task(report={"deadline": 2_000_000_000, "records": 500})) == (1, 500)


def test_shares_become_whole_liars():
    assert liars_of(30, (0.01, 0.02, 0.1)) == [0, 1, 3]
    assert liars_of(300, (0.01, 0.2)) == [0, 3, 60]
