"""Two reports or four: the rule knows the task and nothing else."""

from __future__ import annotations

import pytest

from sim_devices.paper.screening.choosing import chosen, noise_over_sampling
from tests.sim_devices.paper.places import high


def test_more_clients_budget_or_fewer_features_need_no_funnel():
    hard = high("III", 1.0, 2000, 10)
    easier = [high("III", 1.0, 500, 10), high("III", 2.0, 2000, 10), high("III", 1.0, 2000, 100)]
    assert all(noise_over_sampling(cell) < noise_over_sampling(hard) for cell in easier)
    assert chosen(hard) == "secure-funnel"
    assert chosen(high("III", 2.0, 500, 100)) == "secure"


@pytest.mark.parametrize("model", ["II", "IV", "V"])
def test_models_of_one_size_are_treated_alike(model):
    for clients in (10, 50, 100):
        for p in (500, 1000, 2000):
            assert chosen(high(model, 1.0, p, clients)) == chosen(high("III", 1.0, p, clients))
