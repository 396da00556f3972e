"""One text for each set of rounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aggregator.rounds.sets import rounds_of, text_of


@given(st.lists(st.integers(1, 1000), max_size=50))
def test_any_order_gives_one_text_which_gives_the_set(rounds: list[int]) -> None:
    text = text_of(rounds)
    assert rounds_of(text) == tuple(sorted(set(rounds)))
    assert text_of(reversed(rounds_of(text))) == text


def test_rounds_without_a_gap_are_short() -> None:
    assert text_of(range(1, 1001)) == "1-1000"
