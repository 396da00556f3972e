"""A simulated federation with two aggregators: real daemons, which open what one place computes."""

from __future__ import annotations

import pytest

from fsir.task.secure import ROLES
from sim_devices.network import daemons
from sim_devices.network.federation import federate
from sim_devices.network.fleet.faults import Faults
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import without_network
from sim_devices.scenarios.tasks import Setting, build
from tests.sim_devices.few_people import few_people

SCENARIO = scenarios.model("I", 9, 200, 4, 1)


def bare(scenario, **settings):
    """Without noise, of which nobody knows a seed: so that what is opened is known."""
    return build(scenario.population, scenario.geometry, Setting(mechanism="none", **settings))


def same(a, b) -> bool:
    return a.features == b.features and a.basis.tobytes() == b.basis.tobytes()


def test_two_daemons_open_the_bits_of_one_place(embedded_url):
    outcome = federate(SCENARIO.population, bare(SCENARIO), broker=embedded_url, cohort=9)
    assert outcome.task.secure is not None
    assert {outcome.task.secure.party(role).name for role in ROLES} == set(ROLES)
    expected = without_network(outcome.task, SCENARIO.population.devices)
    assert same(outcome.subspace, expected)
    assert (outcome.subspace.devices, outcome.stopped) == (9, 0)


@pytest.mark.broker
def test_faults_on_the_way_and_screening_change_nothing(mosquitto_url):
    people = few_people()
    faults = Faults(dropout=0.6, crash=0.6, late=0.3)
    count = len(people.population.devices)
    task = bare(people, dimension=2)
    outcome = federate(
        people.population, task, broker=mosquitto_url, seed=5, faults=faults, cohort=count
    )
    assert outcome.cuts + outcome.crashes > 0
    expected = without_network(outcome.task, people.population.devices, seed=5)
    assert same(outcome.subspace, expected)


@pytest.mark.broker
def test_nobody_is_left_who_came_with_the_others(mosquitto_url):
    outcome = federate(SCENARIO.population, bare(SCENARIO), broker=mosquitto_url, cohort=8)
    assert (outcome.subspace.devices, outcome.stopped) == (9, 0)


@pytest.mark.broker
def test_what_makes_no_cohort_is_left(mosquitto_url, monkeypatch):
    monkeypatch.setattr(daemons, "REST_SECONDS", 0.0)
    outcome = federate(SCENARIO.population, bare(SCENARIO), broker=mosquitto_url, cohort=5)
    assert 5 <= outcome.subspace.devices <= 9
    assert outcome.stopped == 0
