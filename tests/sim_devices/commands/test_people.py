"""Which of the three ways a command takes, and who volunteers."""

from __future__ import annotations

import argparse

import pytest

from sim_devices.commands import demo, hapt, synthetic_har, watch
from sim_devices.commands.people import chosen_of, volunteer_of


def options_of(command, *arguments):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [
        ([], None),
        (["--choose", "0"], 0),
        (["--choose", "12"], 12),
        (["--mechanism", "none"], None),
        (["--mechanism", "vgm"], 8),
        (["--compare"], 8),
        (["--compare", "--choose", "3"], 3),
    ],
)
def test_the_volunteer_proposes_all_unless_told_otherwise(arguments, chosen):
    assert chosen_of(options_of(hapt, *arguments), otherwise=8) == chosen


@pytest.mark.parametrize(
    ("arguments", "who"),
    [
        ([], "person-01"),
        (["--volunteer", "none"], None),
        (["--volunteer", "person-04"], "person-04"),
    ],
)
@pytest.mark.parametrize("command", [watch, synthetic_har])
def test_the_first_person_volunteers_unless_somebody_is_named(command, arguments, who):
    assert volunteer_of(options_of(command, *arguments), "person-01") == who


def test_the_demonstration_is_about_six_activities_unless_levels_are_asked_for():
    assert options_of(demo).six
    assert not options_of(demo, "--levels").six
    assert not options_of(synthetic_har).six
    assert options_of(demo).seed == demo.SEED
