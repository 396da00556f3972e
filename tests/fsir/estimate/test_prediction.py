"""An expected accuracy is the one that comes, and temperature makes confidence fit it."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate.prediction import Rule, Strangers, predicted

CENTRES = np.array([[1.5, 0.0], [-1.5, 0.0], [0.0, 2.0]])
SHARES = np.array([0.5, 0.3, 0.2])


def strangers(**more):
    return Strangers(
        **{
            "centres": CENTRES,
            "variances": np.zeros(3),
            "shapes": (np.eye(2),),
            "shares": SHARES,
            **more,
        }
    )


def best_rule(scale=1.0):
    return Rule(CENTRES * scale, (np.log(SHARES) - 0.5 * (CENTRES**2).sum(1)) * scale)


def right(rule, centres, n=200_000, width=1.0):
    rng = np.random.default_rng(1)
    slices = rng.choice(3, n, p=SHARES)
    X = centres[slices] + width * rng.normal(size=(n, 2))
    return np.mean((X @ rule.weights.T + rule.bias).argmax(1) == slices)


def test_of_known_people_it_is_the_accuracy():
    assert predicted(best_rule(), strangers()).accuracy == pytest.approx(
        right(best_rule(), CENTRES), abs=0.015
    )


def test_scores_that_are_log_odds_need_no_temperature():
    assert predicted(best_rule(), strangers()).temperature == pytest.approx(1.0, rel=0.15)


def test_scores_that_are_too_sure_are_cooled_down():
    assert predicted(best_rule(5.0), strangers()).temperature == pytest.approx(5.0, rel=0.15)


def test_unknown_centres_cost_accuracy_and_confidence():
    unsure = strangers(variances=np.full(3, 0.5))
    found = predicted(best_rule(), unsure)
    assert found.accuracy < predicted(best_rule(), strangers()).accuracy - 0.02
    assert found.temperature > 1.2


def test_people_about_whom_the_public_rule_errs_are_taken_for_strangers():
    public = Rule(CENTRES, -0.5 * (CENTRES**2).sum(1))
    told = [right(public, CENTRES, width=width) for width in (1.0, 1.6)]
    for share, width in zip(told, (1.0, 1.6), strict=True):
        known = strangers(public=public, public_right=share)
        came = right(best_rule(), CENTRES, width=width)
        assert predicted(best_rule(), known).accuracy == pytest.approx(came, abs=0.02)
