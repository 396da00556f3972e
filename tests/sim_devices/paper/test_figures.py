"""Curves and flights."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

from fsir.estimate.subspace import angles
from sim_devices.datasets.flights import CUTS, flights
from sim_devices.datasets.population import Population
from sim_devices.paper import curves, figures
from sim_devices.paper.flights import airline, rehearsal

pytestmark = pytest.mark.long


def test_the_cost_of_privacy_falls_with_n(tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "COST_MODELS", ("I",))
    monkeypatch.setattr(curves, "COST_SIZES", (200, 1000, 10000))
    angle = figures.cost(3, 1, tmp_path)
    assert (
        angle["I_gaussian_n200"]
        > angle["I_gaussian_n1000"]
        > angle["I_gaussian_n10000"]
        > angle["I_none_n10000"]
    )
    assert (tmp_path / "cost.svg").read_text().startswith("<?xml")
    assert len(list(csv.DictReader((tmp_path / "cost.csv").read_text().splitlines()))) == 3 * 4


def test_more_clients_help(tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "CLIENT_SIZES", (500,))
    monkeypatch.setattr(curves, "CLIENT_COUNTS", (2, 50))
    angle = figures.clients(3, 1, tmp_path)
    for name in ("gaussian", "iid", "vgm", "none"):
        assert angle[f"n500_{name}_K50"] < angle[f"n500_{name}_K2"]


@pytest.fixture(scope="module")
def carriers() -> Population:
    return flights(1)


@pytest.mark.parametrize("name", airline.DESIGNS)
def test_directions_come_back_to_the_papers_variables(name, carriers):
    """Without noise and clip every design finds the direction that is there without privacy."""
    design = replace(airline.DESIGNS[name](carriers, 1.0), norm=1e3)
    X, y = airline.standardised(carriers.devices)
    slices = np.searchsorted(CUTS, y, side="left")
    direction = design.A.T @ rehearsal.exact_direction(design.features(X), slices, airline.SLICES)
    assert angles(airline.without_privacy(carriers), direction).max() < 1e-4


def test_a_design_looks_at_nobody_who_takes_part(carriers):
    strangers = tuple(
        replace(stream, X=-3.0 * stream.X, y=stream.y[::-1]) for stream in carriers.devices
    )
    for make in airline.DESIGNS.values():
        one = make(carriers, 1.0)
        other = make(replace(carriers, devices=strangers), 1.0)
        np.testing.assert_array_equal(one.A, other.A)
        np.testing.assert_array_equal(one.centre, other.centre)
        assert one.norm == other.norm


@pytest.mark.slow
def test_the_private_direction_of_the_flights_is_near_the_open_one(carriers):
    target = airline.without_privacy(carriers)
    private = airline.Carriers(carriers, airline.rehearsed_design(carriers, 1.0), 1.0)
    turned = [
        float(angles(target, private.direction("gaussian", seed)).max()) for seed in range(20)
    ]
    assert np.median(turned) < 10.0
