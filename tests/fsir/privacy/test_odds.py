"""How far the odds between two contents of a unit move: the formulas, and the table for owners."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fsir.errors import AccountingError
from fsir.privacy import accounting
from fsir.privacy.budget import total_mu
from fsir.privacy.claims import odds_factor
from tests.fsir.tasks import screened, task

DELTA = 1e-6
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
DOCS = Path(__file__).parents[3] / "docs"

costs = st.floats(0.01, 9.0)
deltas = st.floats(1e-9, 0.3)


def test_the_factor_at_epsilon_one_is_not_e():
    mu = accounting.mu_of(1.0, DELTA)
    assert accounting.odds_factor(mu, DELTA) == pytest.approx(3.168, abs=1e-3)
    assert accounting.odds_exception(mu, 1.0) == pytest.approx(20.1 * DELTA, rel=1e-3)
    assert accounting.worst_odds_factor(mu, DELTA) == pytest.approx(3.315, abs=1e-3)
    assert accounting.worst_odds_exception(mu, 1.0) == pytest.approx(52.1 * DELTA, rel=1e-3)


@given(costs, deltas)
def test_factor_and_exception_are_two_sides_of_one_curve(mu, delta):
    factor = accounting.odds_factor(mu, delta)
    assert accounting.odds_exception(mu, math.log(factor)) == pytest.approx(delta, rel=1e-6)
    worst = accounting.worst_odds_factor(mu, delta)
    assert accounting.worst_odds_exception(mu, math.log(worst)) == pytest.approx(delta, rel=1e-6)


@given(costs, deltas)
def test_a_single_bit_can_exceed_the_factor_of_the_release_it_comes_from(mu, delta):
    """So the page for owners, which is also about votes, must name the worst factor."""
    z = stats.norm.isf(delta)
    bit = stats.norm.sf(z) / stats.norm.sf(z + mu)
    assert accounting.worst_odds_factor(mu, delta) == pytest.approx(bit, rel=1e-6)
    assert bit > accounting.odds_factor(mu, delta)


@given(costs, deltas, st.lists(st.floats(-8.0, 8.0), min_size=1, max_size=6))
def test_no_coarser_view_raises_the_odds_further_than_the_worst_factor(mu, delta, edges):
    """Cut the line into cells: those whose odds exceed the factor have at most `delta` in all."""
    borders = np.array([-math.inf, *sorted(edges), math.inf])
    truth = np.diff(stats.norm.cdf(borders, loc=mu))
    other = np.diff(stats.norm.cdf(borders))
    exceeding = truth > accounting.worst_odds_factor(mu, delta) * other * (1 + 1e-9) + 1e-14
    assert truth[exceeding].sum() <= delta * (1 + 1e-9)


@given(st.floats(0.05, 20.0), st.floats(1e-9, 0.05))
def test_odds_exceed_e_to_epsilon_more_often_than_delta(epsilon, delta):
    mu = accounting.mu_of(epsilon, delta)
    assert delta < accounting.odds_exception(mu, epsilon)
    assert accounting.odds_exception(mu, epsilon) < accounting.worst_odds_exception(mu, epsilon)
    assert accounting.odds_factor(mu, delta) > math.exp(epsilon)


@pytest.mark.parametrize("odds", [accounting.odds_factor, accounting.worst_odds_factor])
@pytest.mark.parametrize(("mu", "delta"), [(0.0, 0.1), (math.nan, 0.1), (1.0, 0.0), (1.0, 1.0)])
def test_nonsense_is_refused(odds, mu, delta):
    with pytest.raises(AccountingError, match="must lie"):
        odds(mu, delta)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, 20.0])
@pytest.mark.parametrize("votes", [False, True])
def test_a_task_pays_for_its_sampler_in_its_factor(epsilon, votes):
    privacy = {"epsilon": epsilon}
    asked = task(5, privacy=privacy)
    if votes:
        asked = task(6, privacy=privacy, screening=screened(6).table()["screening"])
    exact = accounting.worst_odds_factor(total_mu(asked), DELTA)
    assert exact < odds_factor(asked) < 1.01 * exact


# --- the table in docs/privacy.md -----------------------------------------------------------------


def rows():
    """The table "What epsilon means here": the figures of each line, by what its label begins with.

    >>> rows()["epsilon"][:3]
    ['0.25', '0.5', '1']
    """
    text = (DOCS / "privacy.md").read_text(encoding="utf-8")
    section = text[text.index("### What epsilon means here") : text.index("### What a unit is")]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return {line[0].strip(): [cell.strip() for cell in line[1:]] for line in lines}


MOST = (
    "odds of the truth rise by at most (except with probability delta)",
    "the same for the Gaussian release, seen in full",
    "they rise by more than `e^epsilon` with probability at most, in units of delta",
    "the same for the release, seen in full",
    "right guesses between two equally likely candidates, at most",
    "members found at 1% false alarms, at most",
    "epsilon for two units together, at most",
    "epsilon for ten units together, at most",
)
NEAREST = ("`mu`, the exact measure behind it", "`e^epsilon`")


def exact(epsilon):
    """The figures of one column: those of MOST, and those of NEAREST."""
    mu = accounting.mu_of(epsilon, DELTA)
    most = (
        accounting.worst_odds_factor(mu, DELTA),
        accounting.odds_factor(mu, DELTA),
        accounting.worst_odds_exception(mu, epsilon) / DELTA,
        accounting.odds_exception(mu, epsilon) / DELTA,
        100 * stats.norm.cdf(mu / 2),
        100 * stats.norm.sf(stats.norm.isf(0.01) - mu),
        accounting.epsilon_of(2 * mu, DELTA),
        accounting.epsilon_of(10 * mu, DELTA),
    )
    return dict(zip(MOST, most, strict=True)), dict(
        zip(NEAREST, (mu, math.exp(epsilon)), strict=True)
    )


def last_digit(figure):
    """What one unit in the last digit that is printed is worth."""
    number = figure.rstrip("%")
    if "." in number:
        return 10.0 ** -len(number.split(".")[1])
    return 10.0 ** len(re.search(r"0*\Z", number)[0])


def test_the_table_for_owners_has_every_figure_and_no_other():
    table = rows()
    assert table.pop("epsilon") == [f"{epsilon:g}" for epsilon in EPSILONS]
    assert set(table) == {*MOST, *NEAREST, "---"}


@pytest.mark.parametrize(("column", "epsilon"), list(enumerate(EPSILONS)))
def test_the_table_for_owners_is_right_to_the_last_digit(column, epsilon):
    table = rows()
    most, nearest = exact(epsilon)
    for label, value in most.items():  # a bound is rounded up
        figure = table[label][column]
        assert value <= float(figure.rstrip("%")) < value + last_digit(figure), label
    for label, value in nearest.items():
        figure = table[label][column]
        assert abs(float(figure) - value) <= 0.5 * last_digit(figure), label


def test_other_pages_name_the_same_factors():
    operations = (DOCS / "operations.md").read_text(encoding="utf-8")
    task_file = (DOCS / "task.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| (\S+) \| (\S+) times \|", operations, re.MULTILINE)
    listed = re.search(r"at most ([^a-z]+) at an epsilon of ([^a-z]+), except", task_file)
    exceeded = re.search(r"of up to ([^a-z]+) delta", task_file)[1].split(", ")
    factors, epsilons = (group.split(", ") for group in listed.groups())
    assert len(table) == 4
    for epsilon, factor in [*table, *zip(epsilons, factors, strict=True)]:
        value = accounting.worst_odds_factor(accounting.mu_of(float(epsilon), DELTA), DELTA)
        assert value <= float(factor) < value + last_digit(factor)
    for epsilon, times in zip(epsilons, exceeded, strict=True):
        mu = accounting.mu_of(float(epsilon), DELTA)
        value = accounting.worst_odds_exception(mu, float(epsilon)) / DELTA
        assert value <= float(times) < value + last_digit(times)


# --- against draws --------------------------------------------------------------------------------

DRAWS = 1_000_000
DIMENSIONS = 3
DIRECTION = np.array([2.0, -3.0, 6.0]) / 7.0  # from one mean to the other


class Draws:
    """Draws of a release whose mean is 0 if the truth holds, and mu along DIRECTION otherwise.

    They are made around `shift` along that direction, and weigh what makes up for it.
    """

    def __init__(self, rng, mu, shift=0.0):
        Y = rng.normal(size=(DRAWS, DIMENSIONS)) + shift * DIRECTION
        truth = -0.5 * np.sum(Y**2, axis=1)
        other = -0.5 * np.sum((Y - mu * DIRECTION) ** 2, axis=1)
        drawn = -0.5 * np.sum((Y - shift * DIRECTION) ** 2, axis=1)
        self.ratio = truth - other  # the log-likelihood ratio
        self.along = Y @ DIRECTION
        self.truth = np.exp(truth - drawn)
        self.other = np.exp(other - drawn)

    @staticmethod
    def probability(weights, event):
        """That of an event, and its Monte Carlo error."""
        values = weights * event
        return values.mean(), values.std() / math.sqrt(DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_million_draws_of_the_likelihood_ratio_agree(epsilon):
    rng = np.random.default_rng(round(100 * epsilon))
    mu = accounting.mu_of(epsilon, DELTA)
    factor = accounting.odds_factor(mu, DELTA)
    exception = accounting.odds_exception(mu, epsilon)
    # As they come: few exceed either, as many as Poisson allows, and many more than delta says.
    plain = Draws(rng, mu)
    assert plain.ratio.mean() == pytest.approx(mu**2 / 2, abs=4 * mu / math.sqrt(DRAWS))
    beyond = int((plain.ratio > epsilon).sum())
    assert (
        min(
            stats.poisson.cdf(beyond, DRAWS * exception),
            stats.poisson.sf(beyond - 1, DRAWS * exception),
        )
        > 1e-4
    )
    assert int((plain.ratio > math.log(factor)).sum()) < 8
    # Drawn where it matters: both figures to better than one in a hundred.
    far = Draws(rng, mu, shift=-stats.norm.isf(DELTA))
    for level, expected in ((math.log(factor), DELTA), (epsilon, exception)):
        found, error = far.probability(far.truth, far.ratio > level)
        assert error < 0.01 * expected
        assert abs(found - expected) < 4 * error
    # One bit of it, which is true with probability delta: its odds are the worst factor.
    bit = far.along < -stats.norm.isf(DELTA)
    found, error = far.probability(far.other, bit)
    assert abs(DELTA / accounting.worst_odds_factor(mu, DELTA) - found) < 4 * error
    assert error < 0.01 * found
