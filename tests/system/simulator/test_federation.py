"""A simulated federation is a real one:
what comes over the network equals what is computed in one place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsir.errors import FsirError
from sim_devices.network.federation import federate
from sim_devices.network.fleet.faults import Faults
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import accuracy, without_network
from sim_devices.scenarios.tasks import Setting, build
from tests.sim_devices.few_people import few_people, task_of, unequal_people


@pytest.fixture(scope="module")
def people():
    return few_people()


@pytest.fixture(scope="module")
def task(people):
    return task_of(people)


def same(a, b) -> bool:
    return a.features == b.features and a.basis.tobytes() == b.basis.tobytes()


def test_network_and_one_place_give_the_same_bits(people, task, embedded_url):
    outcome = federate(people.population, task, broker=embedded_url, seed=5)
    expected = without_network(task, people.population.devices, seed=5)
    assert outcome.subspace.devices == len(people.population.devices)
    assert same(outcome.subspace, expected)
    assert outcome.bytes_per_device > 0


def test_streams_of_unequal_length_are_filled_up_alike_with_a_network_and_without(embedded_url):
    people = unequal_people()
    population = people.population
    task = build(population, people.geometry, Setting(epsilon=4.0))
    lengths = [len(stream) for stream in population.devices]
    assert task.report.records == max(lengths) > min(lengths)
    outcome = federate(population, task, broker=embedded_url, seed=5)
    expected = without_network(task, population.devices, seed=5)
    assert same(outcome.subspace, expected)
    assert outcome.subspace.devices == len(lengths)
    assert outcome.subspace.records == expected.records
    scores = [
        accuracy(task, subspace, population.unseen) for subspace in (outcome.subspace, expected)
    ]
    assert scores[0] == scores[1] > 0.9


@pytest.mark.broker
def test_faults_on_the_way_change_nothing(people, task, mosquitto_url):
    faults = Faults(dropout=0.6, crash=0.6, late=0.3)
    outcome = federate(people.population, task, broker=mosquitto_url, seed=5, faults=faults)
    assert outcome.cuts + outcome.crashes > 0
    assert same(outcome.subspace, without_network(task, people.population.devices, seed=5))


def test_those_who_never_come_are_not_waited_for(people):
    # Without screening, because a quorum of all devices would wait for the absent ones.
    scenario = scenarios.model("I", 8, 150, 4, seed=1)
    task = build(scenario.population, scenario.geometry, Setting(epsilon=2.0))
    outcome = federate(
        scenario.population, task, broker="embedded", seed=2, faults=Faults(absent=0.5)
    )
    assert 0 < outcome.devices < 8
    assert outcome.subspace.devices == outcome.devices
    assert outcome.subspace.records == 150 * outcome.devices


def test_no_broker_is_said_clearly(people, task):
    with pytest.raises(FsirError, match="no broker answers at mqtt://"):
        federate(people.population, task, broker="mqtt://127.0.0.1:1", patience=5)


def test_nobody_waits_for_an_aggregator_that_has_ended(people, task, embedded_url, monkeypatch):
    monkeypatch.setattr("sim_devices.network.daemons.sys.executable", "/bin/false")
    with pytest.raises(FsirError, match="the aggregator ended with status 1"):
        federate(people.population, task, broker=embedded_url, patience=250)


@pytest.mark.broker
def test_all_rounds_of_all_devices_are_answered_over_the_network(mosquitto_url):
    """A device is done when its last round has its receipt: five of them, four rounds each."""
    scenario = scenarios.model("I", 5, 400, 4, seed=1)
    single = build(scenario.population, scenario.geometry, Setting(epsilon=2.0))
    task = replace(single, report=single.report._replace(records=100, rounds=4))
    faults = Faults(dropout=0.6, crash=0.6)
    outcome = federate(scenario.population, task, broker=mosquitto_url, seed=2, faults=faults)
    assert outcome.stopped == 0
    assert outcome.cuts + outcome.crashes > 0
    assert 0 < outcome.subspace.devices <= outcome.devices == 5


@pytest.mark.broker
def test_several_processes_give_the_same_bits_as_one(mosquitto_url):
    scenario = scenarios.model("I", 9, 60, 4, seed=3)
    task = build(scenario.population, scenario.geometry, Setting(epsilon=2.0))
    faults = Faults(dropout=0.5, crash=0.5)
    alone, together = (
        federate(
            scenario.population, task, broker=mosquitto_url, seed=2, faults=faults, workers=workers
        )
        for workers in (1, 3)
    )
    assert same(alone.subspace, together.subspace)
    assert same(alone.subspace, without_network(task, scenario.population.devices, seed=2))
    assert alone.devices == together.devices == together.subspace.devices == 9
    assert (alone.cuts, alone.crashes) == (together.cuts, together.crashes)
    assert alone.bytes_per_device == together.bytes_per_device
