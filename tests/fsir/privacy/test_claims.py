"""What is proven about each mechanism, and what is not."""

from __future__ import annotations

import pytest

from fsir.privacy.claims import epsilon_if_both_collude, promises, statement
from tests.fsir.tasks import screened, shared, task

PROVEN = {"gaussian": True, "iid": True, "vgm": False, "none": False}


def privacy(mechanism, **changes):
    return task(5, privacy={"mechanism": mechanism, **changes})


def test_every_mechanism_says_whether_it_is_proven_and_why():
    known = {mechanism: statement(privacy(mechanism)) for mechanism in PROVEN}
    assert {mechanism: said.proven for mechanism, said in known.items()} == PROVEN
    for mechanism, said in known.items():
        assert said.mechanism == mechanism
        assert len(said.reason) > 20
    assert "theorem 1" in known["gaussian"].reason
    assert "E3" in known["vgm"].reason


def test_e5_the_classical_mechanism_is_proven_only_where_its_exact_delta_allows():
    assert statement(privacy("iid", epsilon=2.0)).proven
    assert statement(privacy("iid", epsilon=2.0, delta=1e-3)).proven
    far = task(5, privacy={"mechanism": "iid", "epsilon": 100.0, "delta": 1e-3})
    assert not statement(far).proven
    assert "exact delta" in statement(far).reason


@pytest.mark.parametrize("records", ["same", "fresh"])
def test_the_statement_covers_both_stages(records):
    iid = task(
        6,
        privacy={"mechanism": "iid"},
        screening={"final_norm": 1.5, "limit": 4, "records": records},
    )
    assert statement(screened(6, records=records)).proven
    assert statement(iid).proven


def test_two_aggregators_make_three_promises_and_one_makes_one():
    (only,) = promises(task())
    assert only.epsilon == 1.0
    secured = shared(cohort=10)
    honest, both, network = promises(secured)
    assert (honest.epsilon, network.epsilon) == (1.0, 0.0)
    assert both.epsilon == epsilon_if_both_collude(secured) > 3.0
    for promise in (honest, both):
        assert "'hospital' and 'university'" in promise.against
    assert "theorems 1 and 15" in statement(secured).reason
    assert not statement(shared(privacy={"mechanism": "none"})).proven


def test_rounds_with_correlated_noise_rest_on_the_theorem_about_them():
    correlated = task(5, report={"rounds": 3})
    assert statement(correlated).proven
    assert "theorems 1 and 13" in statement(correlated).reason
    for other in (task(5), task(5, report={"rounds": 3}, privacy={"noise": "independent"})):
        assert "13" not in statement(other).reason
