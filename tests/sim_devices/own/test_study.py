"""Curves and verdict are about the same runs, and the controls are computed once."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.errors import FsirError
from fsir.estimate.subspace import projection_loss
from sim_devices.own import study as studies
from sim_devices.own.cells import Laboratory, in_process
from sim_devices.own.frames import from_frame
from sim_devices.own.setup import Roles, prepare
from sim_devices.own.study import Wishes, axes, study
from tests.sim_devices.own.made_up import frame, records

WISHES = Wishes(epsilons=(4.0, 0.5, 2.0), devices=(3, 16), records=(20, 60))


def own_of(**table):
    return prepare(from_frame(frame(records(**table)), "activity", "person"), Roles(slices=4))


def run(own, wishes=WISHES):
    laboratory = Laboratory(
        population=own.scenario.population, sample=own.sample, federate=in_process, draws=3
    )
    steps = []
    found = study(own, wishes, laboratory, lambda done, total: steps.append((done, total)))
    return found, steps


@pytest.fixture(scope="module")
def classes():
    return run(own_of())


@pytest.fixture(scope="module")
def numbers():
    return run(own_of(numeric=True))[0]


def test_every_curve_goes_through_the_point_that_it_is_all_about(classes):
    found, _ = classes
    assert found.headline.cell == (0.5, 8, 60)  # of the budgets, 0.5 and 2 are as near to 1
    assert [point.cell.epsilon for point in found.curves["epsilon"]] == [0.5, 2.0, 4.0]
    assert [point.cell.devices for point in found.curves["devices"]] == [3, 8, 16]
    assert [point.cell.records for point in found.curves["records"]] == [20, 60]
    for points in found.curves.values():
        assert found.headline in points
    assert [point.simulated for point in found.curves["devices"]] == [False, False, True]


def test_progress_counts_every_cell_once(classes):
    _, steps = classes
    assert steps == [(done, 6) for done in range(7)]


def test_the_verdict_is_about_the_figures(classes):
    found, _ = classes
    best = max(c.score for c in found.result.beside.controls if c.public)
    assert found.without.score == best
    assert found.result.accuracy == found.headline.score
    assert found.result.verdict.gain == pytest.approx(found.headline.score - best)
    said = found.result.verdict.sentence
    assert said.startswith("With 8 devices and 60 records each, epsilon 0.5 ")
    assert f"({100 * best:.1f}% -> {100 * found.headline.score:.1f}%)" in said


def test_only_larger_fleets_and_budgets_are_promised_each_with_its_error(classes):
    found, _ = classes
    middle = found.curves["epsilon"][1]  # of epsilon 2, with 0.5 below it
    own = found.own
    fleet = studies._fleet(middle, own.devices, found.curves, found.without, own)
    assert [tried.name for tried in fleet.budgets] == ["epsilon 4"]
    assert [tried.name for tried in fleet.larger] == ["16 devices"]
    assert fleet.budgets[0].score == found.curves["epsilon"][2].score
    assert all(tried.error is not None for tried in (*fleet.budgets, *fleet.larger))
    assert fleet.runs == middle.scores


def test_a_number_is_judged_by_a_line_and_by_what_no_noise_gives(numbers):
    best = max(c.score for c in numbers.result.beside.controls if c.public)
    assert numbers.result.explained == numbers.headline.score
    assert f"(R^2 {best:.3f} -> {numbers.headline.score:.3f})" in numbers.result.verdict.sentence
    quiet = numbers.result.beside.quiet.subspace.basis
    for _, point in numbers.points:
        basis = point.outcome.subspace.basis
        d = min(basis.shape[1], quiet.shape[1])
        assert numbers.loss(point) == projection_loss(basis[:, :d], quiet[:, :d])
    losses = [numbers.loss(point) for point in numbers.curves["epsilon"]]
    assert losses[-1] < losses[0]  # the larger budget comes nearer


def test_classes_have_no_loss(classes):
    assert classes[0].loss(classes[0].headline) is None


def test_controls_are_computed_once_and_beside_all_devices(monkeypatch):
    asked = []
    beside = studies.beside

    def counted(scenario, task, subspace):
        asked.append(scenario)
        return beside(scenario, task, subspace)

    monkeypatch.setattr(studies, "beside", counted)
    found, _ = run(own_of(), Wishes(epsilons=(1.0, 2.0), devices=(4, 8), records=(30,)))
    (scenario,) = asked
    assert [len(stream) for stream in scenario.population.devices] == [30] * 8
    assert found.headline.cell.records == 30


def test_without_being_told_parts_and_multiples_are_tried():
    cells = axes(own_of(), Wishes())
    assert [cell.epsilon for cell in cells["epsilon"]] == [0.5, 1.0, 2.0, 4.0]
    assert [cell.devices for cell in cells["devices"]] == [2, 4, 8, 16, 32]
    assert [cell.records for cell in cells["records"]] == [15, 30, 60]
    assert {cell.epsilon for cell in cells["devices"] + cells["records"]} == {1.0}


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        (Wishes(records=(61,)), "records=61: no device has more than 60"),
        (Wishes(devices=(1, 5)), "devices=1: a federation takes at least 2"),
    ],
)
def test_what_cannot_be_tried_is_refused(wishes, said):
    with pytest.raises(FsirError, match=said):
        axes(own_of(), wishes)


def test_notes_are_told_with_the_result(classes):
    found, _ = classes
    notes = " ".join(found.notes)
    for part in ("public, and no device", "unseen, and no device", "simulated: 16 devices"):
        assert part in notes
    assert found.result.error > 0.0
    assert found.result.gain_error >= 0.0


def test_the_standard_error_is_over_people(classes):
    found, _ = classes
    unseen = found.own.scenario.population.unseen
    outcome = found.headline.outcome
    shares = [studies.measure_of(outcome)([stream]) for stream in unseen]
    expected = np.std(shares, ddof=1) / np.sqrt(len(shares))  # all have as many records
    assert found.result.error == pytest.approx(expected, rel=1e-9)
