"""The verdict as a person reads it."""

from __future__ import annotations

import pytest

from sim_devices.scenarios import virtual_fleets
from sim_devices.scenarios.control import Control
from sim_devices.scenarios.evaluation import without_network
from sim_devices.scenarios.tasks import Setting, build
from sim_devices.scenarios.verdict import of_classes, of_losses, of_numbers
from sim_devices.scenarios.virtual_fleets import Larger, drawn_again, larger_fleets
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


def test_a_fleet_grows_as_if_it_had_been_large_from_the_beginning():
    people = unequal_people()
    task = build(people.population, people.geometry, Setting(epsilon=1.0))
    devices = people.population.devices
    grown = virtual_fleets._Growing(task, devices, seed=7)
    grown.grown(2)
    everyone = [drawn_again(stream, copy, 7) for copy in range(4) for stream in devices]
    expected = without_network(task, everyone, seed=7)
    assert grown.grown(4).basis.tobytes() == expected.basis.tobytes()
