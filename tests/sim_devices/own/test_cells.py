"""A cell is run with the code of the federation, and its median run is what is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsir.wire.messages import encode
from sim_devices.own.cells import DRAWS, Cell, Laboratory, in_process, measure_of, shortened
from sim_devices.own.frames import from_frame
from sim_devices.own.setup import Roles, prepare
from sim_devices.scenarios.evaluation import without_network
from tests.sim_devices.own.made_up import frame, records


@pytest.fixture(scope="module")
def own():
    return prepare(from_frame(frame(records()), "activity", "person"), Roles())


def laboratory(own, federate=in_process, draws=3):
    return Laboratory(
        population=own.scenario.population, sample=own.sample, federate=federate, draws=draws
    )


def test_all_devices_and_records(own):
    ran = []

    def federate(population, task, seed):
        ran.append((population, task, seed))
        return in_process(population, task, seed)

    point = laboratory(own, federate).run(Cell(2.0, 8, 60))
    assert len(ran) == 3
    assert len({id(task) for _, task, _ in ran}) == 1  # proposed once
    assert len({seed for _, _, seed in ran}) == 3
    for population, task, _ in ran:
        assert {s.device for s in population.devices} == {s.device for s in own.devices}
        assert task.report.records == 60
        assert task.privacy.epsilon == 2.0
    assert not point.simulated


def test_the_median_run_is_the_one_that_is_told(own):
    point = laboratory(own, draws=DRAWS).run(Cell(0.5, 8, 60))
    assert len(point.scores) == DRAWS
    assert point.score == float(np.median(point.scores))
    assert measure_of(point.outcome)(own.scenario.population.unseen) == point.score


def test_a_run_is_what_the_federation_s_own_code_gives(own):
    point = laboratory(own, draws=1).run(Cell(1.0, 8, 60))
    again = without_network(point.outcome.task, own.devices, 1000)
    assert encode(point.outcome.subspace) == encode(again)
    assert point.outcome.devices == 8
    assert point.outcome.bytes_per_device > 50


def test_fewer_devices_are_some_of_them_by_lot(own):
    fleets = []

    def federate(population, task, seed):
        fleets.append({stream.device for stream in population.devices})
        return in_process(population, task, seed)

    laboratory(own, federate).run(Cell(1.0, 4, 60))
    known = {stream.device for stream in own.devices}
    assert all(fleet < known and len(fleet) == 4 for fleet in fleets)
    assert fleets[0] != fleets[1] or fleets[1] != fleets[2]


def test_more_devices_than_there_are_are_simulated_whoever_runs_the_others(own):
    def never(population, task, seed):
        raise AssertionError("there are no such devices")

    point = laboratory(own, never, draws=1).run(Cell(1.0, 20, 60))
    assert point.simulated
    assert len(point.scores) == DRAWS
    assert point.outcome.devices == 20


def test_the_first_records_are_what_counts(own):
    stream = own.devices[0]
    assert shortened(stream, 1000) is stream
    assert shortened(stream, 10).y.tolist() == stream.y[:10].tolist()
    point = laboratory(own, draws=1).run(Cell(1.0, 8, 10))
    later = [replace(s, X=np.concatenate([s.X[:10], 5.0 + s.X[10:]])) for s in own.devices]
    others = replace(own.scenario.population, devices=tuple(later))
    same = replace(laboratory(own, draws=1), population=others).run(Cell(1.0, 8, 10))
    assert encode(point.outcome.subspace) == encode(same.outcome.subspace)


def test_each_cell_has_a_task_of_its_own_with_reasons(own):
    small = laboratory(own, draws=1).run(Cell(0.5, 3, 10))
    large = laboratory(own, draws=1).run(Cell(4.0, 20, 60))
    assert small.outcome.task.coordinates <= large.outcome.task.coordinates
    assert "3 devices with 10 records" in small.why["coordinates"]
    assert "20 devices with 60 records" in large.why["coordinates"]
