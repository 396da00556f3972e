"""What may be said about rounds."""

import pytest

from aggregator.tasks.reports.rounds import Rounds, memory_in
from fsir.errors import FsirError


def test_a_single_round_says_nothing():
    assert Rounds().sections() == {"report": {}, "privacy": {}, "estimate": {}}


def test_several_rounds_say_what_was_asked_for():
    rounds = Rounds(count=52, every=86400.0, noise="independent", memory="window", span=8)
    assert rounds.sections() == {
        "report": {"rounds": 52, "every": 86400.0},
        "privacy": {"noise": "independent"},
        "estimate": {"memory": "window", "span": 8},
    }


@pytest.mark.parametrize("text", ["", "some", "window", "window=", "window=x", "all=3", "decay=-1"])
def test_a_memory_that_means_nothing_is_refused(text):
    with pytest.raises(FsirError, match="--memory"):
        memory_in(text)
