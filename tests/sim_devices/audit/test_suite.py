"""What must be found, and what must survive:
at claimed epsilon 1, n = 1000, p = 10, R = 3, delta = n^-1.1."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from fsir.privacy import accounting, plan
from fsir.privacy.claims import statement
from sim_devices.audit.bounds.check import check
from sim_devices.audit.claim import Claim
from sim_devices.audit.pairs import PAIRS, AuditError, pair
from sim_devices.audit.suite import MUST_FAIL, PRIVATE, Size, searched

pytestmark = pytest.mark.long

DELTA = 1000**-1.1


@pytest.mark.parametrize(
    ("name", "least"), [("A", 1000.0), ("B", 1000.0), ("C", 21.0), ("Z", 10.0)]
)
def test_the_papers_mechanism_is_refuted_in_closed_form(name, least):
    finding = check("vgm", pair(name), 1.0, DELTA, samples=0)
    assert finding.verdict == "violated"
    assert finding.bound.epsilon > least
    assert finding.bound.confidence == 1.0


def test_on_pair_c_the_papers_delta_is_off_by_a_factor_of_hundreds():
    assert check("vgm", pair("C"), 1.0, DELTA, samples=0).bound.delta > 0.354


def test_the_swap_needs_no_estimated_dimension():
    assert pair("B").dimension == 2
    assert check("vgm", replace(pair("B"), dimension=None), 1.0, DELTA, samples=0).violated


def test_the_papers_mechanism_gets_worse_with_more_records():
    small, large = (
        check("vgm", pair("C", n=n), 1.0, n**-1.1, samples=0).bound.epsilon for n in (1000, 10_000)
    )
    assert large > small


def test_monte_carlo_agrees_with_the_closed_form_on_pair_c():
    closed = check("vgm", pair("C"), 1.0, DELTA, samples=0).bound
    both = check("vgm", pair("C"), 1.0, DELTA, samples=100_000).bound
    assert both.epsilon >= closed.epsilon


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [(mechanism, name) for mechanism, names in MUST_FAIL.items() for name in names],
)
def test_every_known_mistake_is_found(mechanism, name):
    assert check(mechanism, pair(name), 1.0, DELTA, samples=0).verdict == "violated"


def test_the_figures_of_the_known_mistakes():
    assert check("clip-from-data", pair("cR"), 1.0, DELTA).bound.epsilon == pytest.approx(
        248.0, rel=0.01
    )
    assert math.isinf(check("ccmd", pair("ccmd"), 1.0, DELTA).bound.epsilon)
    # Two releases of full cost: mu is sqrt(2) times what was claimed.
    assert check("renoised", pair("worst"), 1.0, DELTA).bound.epsilon == pytest.approx(
        1.502, abs=0.002
    )
    assert check("unweighted", pair("worst"), 1.0, DELTA).bound.epsilon == pytest.approx(
        1.502, abs=0.002
    )


@pytest.mark.parametrize("mechanism", PRIVATE)
@pytest.mark.parametrize("name", PAIRS)
def test_what_we_ship_survives_every_pair(mechanism, name):
    assert check(mechanism, pair(name), 1.0, DELTA).verdict == "consistent"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("mechanism", ["gaussian", "two-stage"])
def test_the_audit_is_sharp_and_the_calibration_wastes_nothing(mechanism, epsilon):
    bounds = [check(mechanism, pair(name), epsilon, 1e-6).bound.epsilon for name in ("C", "worst")]
    assert max(bounds) <= epsilon
    # The bar is 85%; what is missing pays for the sampler and the grid.
    assert min(bounds) > 0.999 * epsilon


def test_votes_from_the_shipped_screening_are_not_those_of_the_paper():
    """The raw vote is decided by one record; the sums behind ours pass the same pair."""
    assert check("two-stage", pair("ccmd"), 1.0, DELTA).verdict == "consistent"


@pytest.mark.parametrize("mechanism", PRIVATE)
def test_no_neighbour_of_ordinary_data_refutes_what_we_ship(mechanism):
    finding = searched(mechanism, 1.0, DELTA, Size(n=300, p=6, truncate=3.0), seed=4)
    assert finding.verdict == "consistent"
    assert finding.bound.epsilon > (0.1 if mechanism == "iid" else 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_ordinary_data_refute_the_papers_mechanism(seed):
    finding = searched("vgm", 1.0, DELTA, Size(n=1000, p=10, truncate=3.0), seed=seed)
    assert finding.verdict == "violated"
    assert finding.bound.epsilon > 2.0


def test_the_statement_about_iid_noise_holds_for_every_active_set():
    claim = Claim(epsilon=1.0, delta=DELTA, n=100, p=20, slices=2, truncate=1.0, norm=4.0)
    task = claim.task("iid", final_norm=4.0, limit=20, keep=1)
    said = float(re.search(r"is ([0-9.e-]+), claimed", statement(task).reason).group(1))
    for size in (1, 5, 20):
        final = plan.final_stage(task, tuple(range(size)))
        mu = accounting.compose(plan.first_stage(task).mu, final.mu)
        assert accounting.delta_of(mu, 1.0) <= 1.01 * said


def test_an_unknown_mechanism_is_refused_with_the_remedy():
    with pytest.raises(AuditError, match="choose one of gaussian"):
        check("gauss", pair("A"), 1.0, DELTA)
