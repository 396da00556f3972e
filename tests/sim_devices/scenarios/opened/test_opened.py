"""What is computed in one place is what two aggregators open of sealed shares, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.contract import task_from_table
from fsir.errors import FsirError
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.rounds.correlated import round_noise
from fsir.secure.opening import noised_sum, opened
from fsir.secure.report import ShareReader, sealed_report, secure_of
from fsir.task.secure import ROLES
from sim_devices.network.parties import Parties
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import report_of, without_network
from sim_devices.scenarios.opened import opened_by_two
from sim_devices.scenarios.tasks import Setting, build

SEED = 3
SCENARIO = scenarios.model("I", 6, 200, 4, SEED)
DEVICES = SCENARIO.population.devices
NAMES = [stream.device for stream in DEVICES]
PARTIES = Parties.new()
PLAIN = build(SCENARIO.population, SCENARIO.geometry, Setting())


def releases(task):
    return [report_of(task, first_stage(task), stream, 200, SEED) for stream in DEVICES]


def test_the_sum_is_what_leader_and_helper_open_of_sealed_shares():
    task = PARTIES.secured(PLAIN, 6)
    stage = first_stage(task)
    made = releases(task)
    sealed = [sealed_report(task, stage, name, one) for name, one in zip(NAMES, made, strict=True)]
    parts = []
    for role in ROLES:
        reader = ShareReader(task, stage, role, getattr(PARTIES, role))
        shares = [reader.share(reader.payload(report)) for report in reversed(sealed)]
        series = SeededNoise(SEED, role).for_stage("group 0 cohort 1")
        noise = round_noise(series, stage, 1)
        parts.append(noised_sum(stage, reader.ring, shares, noise))
    values = opened(reader.ring, *parts)
    totals = opened_by_two(task, secure_of(task), stage, NAMES, made, SEED)
    assert np.concatenate(totals.blocks).tolist() == values.tolist()
    assert (totals.devices, totals.n, totals.noises) == (6, 1200, 6 + 2 * 6)


def test_without_any_noise_it_is_the_estimate_of_one_aggregator():
    bare = build(SCENARIO.population, SCENARIO.geometry, Setting(mechanism="none"))
    alone = without_network(bare, DEVICES, SEED)
    shared = without_network(PARTIES.secured(bare, 6), DEVICES, SEED)
    assert shared.basis == pytest.approx(alone.basis, abs=1e-3)
    assert shared.devices == alone.devices == 6


def test_groups_that_make_no_cohort_are_left_out():
    table = PARTIES.secured(PLAIN, 2).table()
    groups = {**table["secure"], "groups": 3}
    task = task_from_table({**table, "secure": groups})
    totals = opened_by_two(task, secure_of(task), first_stage(task), NAMES, releases(task), SEED)
    assert 2 <= totals.devices <= 6


def test_too_few_devices_open_nothing_and_that_is_said():
    task = PARTIES.secured(PLAIN, 7)
    with pytest.raises(FsirError, match="6 devices are too few to open any sum"):
        without_network(task, DEVICES, SEED)
    with pytest.raises(FsirError, match="a sum of 1 device"):
        PARTIES.secured(PLAIN, 1)
