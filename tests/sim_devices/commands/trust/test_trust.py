"""How many devices a sum is opened of, as the options say it."""

from __future__ import annotations

import argparse

import pytest

from fsir.errors import FsirError
from sim_devices.commands.trust import add_trust, cohort_of


def asked(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_trust(parser)
    return parser.parse_args(words)


def test_with_local_noise_none_is_opened():
    assert cohort_of(asked(), 20) is None
    with pytest.raises(FsirError, match="--cohort 5: with local noise no sums are opened"):
        cohort_of(asked("--cohort", "5"), 20)


def test_all_devices_are_opened_together_unless_fewer_are_asked_for():
    assert cohort_of(asked("--trust", "secure"), 12) == 12
    assert cohort_of(asked("--trust", "secure"), 1000) == 20
    assert cohort_of(asked("--trust", "secure", "--cohort", "5"), 20) == 5
    assert cohort_of(asked("--trust", "secure", "--cohort", "50"), 20) == 20


def test_where_some_never_come_it_must_be_said_how_many_do():
    with pytest.raises(FsirError, match="say by --cohort how many come at least"):
        cohort_of(asked("--trust", "secure"), 20, absent=0.2)
    assert cohort_of(asked("--trust", "secure", "--cohort", "5"), 20, absent=0.2) == 5
