"""The tracing attack: right areas and curves, and the bars on raw and on published figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.metrics import roc_auc_score, roc_curve

from fsir.privacy.plan import first_stage
from sim_devices.audit.attack import roc, targets, tracing
from sim_devices.audit.pairs import AuditError
from sim_devices.audit.shipped.agent import source_of, through_agent
from sim_devices.audit.shipped.scores import reports_of

BUDGET = targets.Budget(1.0, 1e-6)


def areas(panel):
    return {attack.name: attack.mean for attack in panel.attacks}


def test_areas_and_curves_agree_with_an_independent_implementation():
    rng = np.random.default_rng(0)
    inside = rng.normal(0.7, 1.0, 80).round(1)
    outside = rng.normal(0.0, 1.0, 120).round(1)  # with ties
    labels = np.repeat([1, 0], [80, 120])
    scores = np.concatenate([inside, outside])
    assert roc.area(inside, outside) == pytest.approx(roc_auc_score(labels, scores))
    false, true, _ = roc_curve(labels, scores, drop_intermediate=False)
    assert np.allclose(roc.curve(inside, outside), np.interp(roc.GRID, false, true))


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_the_limits_are_those_of_two_normals(mu):
    curve = roc.limit(mu)
    assert (curve[0], curve[-1]) == (0.0, 1.0)
    assert np.trapezoid(curve, roc.GRID) == pytest.approx(
        float(ndtr(mu / math.sqrt(2.0))), abs=0.01
    )
    assert 0.5 < roc.limit_area(mu) < float(ndtr(mu / math.sqrt(2.0)))


def test_independent_features_betray_raw_means_but_not_the_agent():
    area_of = areas(targets.independent(BUDGET, repetitions=12, seed=1))
    assert area_of[targets.RAW] >= 0.8
    assert area_of[targets.SENT] <= 0.6


@pytest.mark.slow
def test_independent_features_over_200_repetitions():
    panel = targets.independent(BUDGET, repetitions=200, seed=2)
    raw, sent = panel.attacks
    assert raw.mean - raw.half_width >= 0.8
    assert sent.mean + sent.half_width <= 0.6
    # 99.8% one-sided: the proven limit stands.
    assert sent.mean - 1.5 * sent.half_width <= roc.limit_area(panel.mu)


@pytest.mark.slow
@pytest.mark.data
def test_body_fat_over_200_repetitions(data_dir):
    panel = targets.body_fat(data_dir / "bodyfat.csv", BUDGET, repetitions=200, seed=1)
    area_of = areas(panel)
    assert area_of[targets.RAW_DIRECTION] > area_of[targets.DIRECTION]
    assert area_of[targets.SENT] <= roc.limit_area(panel.mu) + 0.01


@pytest.mark.slow
@pytest.mark.data
def test_har_devices_over_200_repetitions(data_dir):
    panel = targets.har(data_dir / "uci_har", BUDGET, repetitions=200, seed=1)
    area_of = areas(panel)
    assert area_of[targets.RAW] > 0.62
    assert area_of[targets.SENT] <= roc.limit_area(panel.mu) + 0.01


def test_with_little_privacy_the_attack_on_reports_finds_members():
    """The matched filter is a real attack: at a budget that protects little it finds members."""
    panel = targets.independent(targets.Budget(15.0, 0.05), repetitions=4, seed=3, n=40, p=60)
    area_of = areas(panel)
    assert area_of[targets.SENT] > 0.7


def test_the_score_is_the_exact_likelihood_ratio_up_to_a_constant():
    """For one record against another the matched filter is linear in what was sent,
    with the right weights."""
    task = targets._task([f"x{j}" for j in range(3)], 6, 2.0, 3.0, BUDGET)
    rng = np.random.default_rng(4)
    X = rng.standard_normal((6, 3))
    y = np.array([0, 1, 0, 1, 1, 0])
    sent = through_agent(task, source_of(1))(X, [str(h) for h in y])
    scores = tracing.against_reports(task, sent, X, y)
    stage = first_stage(task)
    report = reports_of(sent)[0]
    numbers = np.concatenate(
        [
            values * block.worth / block.sd
            for block, values in zip(stage.blocks, report.blocks, strict=True)
        ]
    )
    adds = np.stack([_adds(task, stage, x, h) for x, h in zip(X, y, strict=True)])
    expected = adds @ (numbers - 6 * adds.mean(axis=0))
    assert np.allclose(scores, expected)


def _adds(task, stage, x, h):
    """What one record adds to the numbers of a report, in standard deviations of their noise."""
    from sim_devices.audit.mechanisms import law_of_stages
    from sim_devices.audit.pairs import Records

    law = law_of_stages(task, [stage], Records(x[None, :], np.array([h])))
    return law.mean[:, 0] / np.sqrt(law.variances)


def test_body_fat_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(AuditError, match="does not exist"):
        targets.read_body_fat(tmp_path / "none.csv")
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(AuditError, match="no column 'BodyFat'"):
        targets.read_body_fat(other)
