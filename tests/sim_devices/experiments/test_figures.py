"""Curves and flights."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from fsir.subspace import angles
from sim_devices.datasets.flights import FEATURES, SCALE, flights
from sim_devices.experiments import airline, curves, figures


def test_the_cost_of_privacy_falls_with_n(tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "COST_MODELS", ("I",))
    monkeypatch.setattr(curves, "COST_SIZES", (200, 1000, 10000))
    found = figures.cost(3, 1, tmp_path)
    assert found["I_gaussian_n200"] > found["I_gaussian_n1000"] > found["I_gaussian_n10000"] > found["I_none_n10000"]
    assert (tmp_path / "cost.svg").read_text().startswith("<?xml")
    assert len(list(csv.DictReader((tmp_path / "cost.csv").read_text().splitlines()))) == 3 * 4


def test_more_clients_help(tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "CLIENT_SIZES", (500,))
    monkeypatch.setattr(curves, "CLIENT_COUNTS", (2, 50))
    found = figures.clients(3, 1, tmp_path)
    for name in ("gaussian", "iid", "vgm", "none"):
        assert found[f"n500_{name}_K50"] < found[f"n500_{name}_K2"]


def test_directions_come_back_to_the_papers_variables():
    """A direction means the same number for every flight, in whatever features it was found."""
    rng = np.random.default_rng(1)
    X, beta = rng.standard_normal((20, len(FEATURES))), rng.standard_normal((len(FEATURES), 1))
    for name in airline.FEATURE_SETS:
        features = airline.geometry(name)
        there = features.standardised(X) @ beta
        here = (X / SCALE) @ features.back(beta)
        np.testing.assert_allclose(there - there[0], here - here[0], atol=1e-9)


@pytest.mark.slow
def test_the_private_direction_of_the_flights_is_near_the_open_one():
    population = flights(1)
    target = airline.without_privacy(population)
    carriers = airline.Carriers(population, airline.geometry("public"), 1.0)
    found = [float(angles(target, carriers.direction("gaussian", seed)).max()) for seed in range(20)]
    assert np.median(found) < 10.0
