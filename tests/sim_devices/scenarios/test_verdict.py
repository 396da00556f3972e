"""The verdict as a person reads it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sim_devices.scenarios import virtual_fleets
from sim_devices.scenarios.control import Control
from sim_devices.scenarios.evaluation import without_network
from sim_devices.scenarios.tasks import Setting, build
from sim_devices.scenarios.verdict import Fleet, Tried, of_classes, of_fleet, of_losses, of_numbers
from sim_devices.scenarios.virtual_fleets import Larger, drawn_again, fleet_of, larger_fleets
from tests.sim_devices.few_people import unequal_people

PUBLIC = Control(name="the volunteer alone", score=0.806, public=True)
ALONE = Control(name="one device alone", score=0.6, loss=0.9)


def never():
    """Fleets that nobody may ask for."""
    raise AssertionError("no larger fleet was needed")
    yield


def test_a_gain_is_said_in_points():
    verdict = of_classes(0.875, PUBLIC, never())
    assert verdict.sentence == (
        "The federation adds 6.9 points to what is public (80.6% -> 87.5%)."
    )
    assert verdict.gain == pytest.approx(0.069)
    assert verdict.over == "the volunteer alone"
    assert (
        "what one device finds alone (60.0% -> 87.5%)" in of_classes(0.875, ALONE, never()).sentence
    )


def test_no_gain_is_said_too_and_what_it_would_take():
    larger = [Larger(40, 0.81), Larger(80, 0.83), Larger(160, 0.9)]
    said = of_classes(0.81, PUBLIC, iter(larger)).sentence
    assert said == (
        "The federation adds nothing to what is public (80.6% -> 81.0%). Simulated with the same "
        "people's records drawn again: 80 devices would add 2.4 points."
    )
    hopeless = of_classes(0.5, PUBLIC, iter(larger[:1])).sentence
    assert hopeless.endswith("not even 40 devices would add a point.")


def test_where_nothing_is_left_to_add_nobody_looks_for_it():
    perfect = Control(name="the volunteer alone", score=0.995, public=True)
    said = of_classes(0.999, perfect, never()).sentence
    assert said.endswith("There is less than a point left to add.")


def test_numbers_and_losses():
    said = of_numbers(0.7, Control(name="one", score=0.6)).sentence
    assert "adds 10.0 points to what one device explains alone" in said
    nearer = of_losses(0.3, ALONE, 0.9)
    assert nearer.sentence == (
        "The federation comes 0.600 nearer to the truth than one device alone "
        "(error 0.900 -> 0.300)."
    )
    assert "adds nothing to one device alone" in of_losses(0.9, ALONE, 0.9).sentence


def test_larger_fleets_are_made_of_the_records_that_are_there():
    people = unequal_people()
    stream = people.population.devices[0]
    copies = [drawn_again(stream, copy, seed=1) for copy in (0, 1)]
    assert len({copy.device for copy in copies}) == 2
    rows = {row.tobytes() for row in stream.X}
    assert all(row.tobytes() in rows for copy in copies for row in copy.X)
    assert copies[0].X.tobytes() != copies[1].X.tobytes()
    task = build(people.population, people.geometry, Setting(epsilon=1.0))
    population = people.population
    fleets = list(larger_fleets(task, population.devices, population.unseen, seed=1))
    assert [fleet.devices for fleet in fleets] == [12, 24, 48, 96]
    assert fleets[-1].accuracy > 0.8


def test_a_fleet_of_any_size_has_the_real_devices_first():
    devices = unequal_people().population.devices
    sizes = (2, 6, 9, 20)
    fleets = [fleet_of(devices, size, seed=3) for size in sizes]
    assert [len({stream.device for stream in fleet}) for fleet in fleets] == list(sizes)
    for smaller, larger in pairwise(fleets):
        assert [s.device for s in larger[: len(smaller)]] == [s.device for s in smaller]
    assert {id(stream) for stream in fleets[1]} == {id(stream) for stream in devices}
    assert fleets[0] != fleet_of(devices, 2, seed=4)
    sources = {stream.device.rpartition("-")[0] for stream in fleets[3][6:12]}
    assert sources == {stream.device for stream in devices}


def test_a_fleet_grows_as_if_it_had_been_large_from_the_beginning():
    people = unequal_people()
    task = build(people.population, people.geometry, Setting(epsilon=1.0))
    devices = people.population.devices
    grown = virtual_fleets._Growing(task, devices, seed=7)
    grown.grown(2)
    everyone = [drawn_again(stream, copy, 7) for copy in range(4) for stream in devices]
    expected = without_network(task, everyone, seed=7)
    assert grown.grown(4).basis.tobytes() == expected.basis.tobytes()


SAMPLE = Control(name="the public sample alone: plain LDA, 5 features", score=0.868, public=True)


def fleet(larger=(), budgets=(), **more):
    known = [Tried(f"{devices} devices", *found) for devices, *found in larger]
    tried = [Tried(f"epsilon {epsilon:g}", *found) for epsilon, *found in budgets]
    return Fleet(devices=24, records="100", epsilon=1.0, larger=known, budgets=tried, **more)


def test_the_size_of_the_fleet_is_said_and_what_a_larger_one_would_add():
    verdict = of_fleet(0.908, SAMPLE, fleet([(48, 0.93), (60, 0.958)]), people=9, error=0.01)
    assert verdict.sentence == (
        "With 24 devices and 100 records each, epsilon 1 adds 4.0 points to the public sample "
        "(86.8% -> 90.8%); with 60 devices it would add 9.0."
    )
    assert verdict.gain == pytest.approx(0.04)
    assert verdict.over == SAMPLE.name


def test_a_larger_fleet_that_would_add_no_more_is_not_praised():
    said = of_fleet(0.908, SAMPLE, fleet([(60, 0.9)])).sentence
    assert said.endswith("(86.8% -> 90.8%).")


def test_a_gain_that_may_be_luck_is_called_so():
    said = of_fleet(0.908, SAMPLE, fleet(), people=3, error=0.03).sentence
    assert said.endswith(
        "But 3 unseen people cannot tell that from luck: its standard error is 3.0 points."
    )


@pytest.mark.parametrize(
    ("score", "larger", "budgets", "said"),
    [
        (0.87, [(48, 0.87), (96, 0.9)], [], "; 96 devices would add 3.2 points."),
        (0.87, [], [(2.0, 0.9), (4.0, 0.95)], "; epsilon 2 would add 3.2 points."),
        (
            0.87,
            [(48, 0.9)],
            [(4.0, 0.91)],
            "; 48 devices would add 3.2 points and epsilon 4 would add 4.2 points.",
        ),
        (0.87, [(48, 0.8)], [(4.0, 0.8)], "; not even 48 devices or epsilon 4 would add a point."),
        (0.87, [], [], "; no more was tried."),
    ],
)
def test_where_nothing_is_added_it_is_said_what_would(score, larger, budgets, said):
    sentence = of_fleet(score, SAMPLE, fleet(larger, budgets)).sentence
    assert "epsilon 1 adds nothing to the public sample (86.8% -> 87.0%)" in sentence
    assert sentence.endswith(said)


def test_one_person_cannot_tell_a_gain_from_luck():
    said = of_fleet(0.908, SAMPLE, fleet(), people=1).sentence
    assert said.endswith(" But one unseen person cannot tell that from luck.")
    promised = of_fleet(0.868, SAMPLE, fleet([(48, 0.9)]), people=1).sentence
    assert promised.endswith("3.2 points. But one unseen person cannot tell that from luck.")
    assert "luck" not in of_fleet(0.868, SAMPLE, fleet([(48, 0.86)]), people=1).sentence


def test_what_would_add_a_point_may_be_luck_too():
    said = of_fleet(0.868, SAMPLE, fleet([(48, 0.9, 0.01)], [(2.0, 0.9, 0.02)]), people=3).sentence
    assert said.endswith(
        "; 48 devices would add 3.2 points and epsilon 2 would add 3.2 points. But 3 unseen people "
        "cannot tell that from luck: its standard error is 2.0 points."
    )
    sure = of_fleet(0.868, SAMPLE, fleet([(48, 0.9, 0.01)]), people=3).sentence
    assert sure.endswith("48 devices would add 3.2 points.")


def test_a_gain_that_noise_takes_away_in_some_runs_is_not_promised():
    runs = (0.86, 0.868, 0.908, 0.91, 0.92)
    said = of_fleet(0.908, SAMPLE, fleet(runs=runs), people=9, error=0.01).sentence
    assert said.endswith("(86.8% -> 90.8%). In 2 of 5 runs noise took all of it.")
    assert "runs" not in of_fleet(0.908, SAMPLE, fleet(runs=runs[2:]), people=9).sentence


def test_a_loss_is_called_one_unless_it_may_be_luck():
    worse = of_fleet(0.8, SAMPLE, fleet(), people=9, error=0.02).sentence
    assert "does worse than the public sample by 6.8 points (86.8% -> 80.0%)" in worse
    unsure = of_fleet(0.8, SAMPLE, fleet(), people=9, error=0.05).sentence
    assert "adds nothing to the public sample (86.8% -> 80.0%)" in unsure


def test_a_guess_may_be_the_best_that_is_public():
    guess = Control(name="always the commonest class", score=0.5, public=True)
    assert "adds 10.0 points to what is public (50.0%" in of_fleet(0.6, guess, fleet()).sentence


def test_a_number_is_told_by_its_r_squared():
    said = of_fleet(0.9, SAMPLE, fleet(), numeric=True).sentence
    assert "adds 3.2 points to the public sample (R^2 0.868 -> 0.900)" in said
