"""Soon again after one loss, later and later after many, and never faster than without any."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.mqtt.patience import CALM_SECONDS, QUICK_ENDS, QUICK_SECONDS, Patience
from fsir.net.backoff import Delays

DELAYS = Delays(first=0.5, longest=30.0)


class Steady(random.Random):
    """No jitter: the middle of whatever is asked for."""

    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


def test_who_is_thrown_out_again_and_again_waits_longer_and_longer_and_knows_it() -> None:
    patience = Patience(DELAYS, Steady())
    waits = []
    crowded = []
    for _ in range(10):
        waits.append(patience.ended(0.5))
        crowded.append(patience.crowded)
    assert waits == [0.5, 0.5, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert crowded == [False] * (QUICK_ENDS - 1) + [True] * 8


def test_two_who_share_a_name_keep_out_of_each_others_way_for_good() -> None:
    """A connection lasts until the other one comes back: both come to wait as long as they can."""
    both = [Patience(DELAYS, random.Random(seed)) for seed in range(2)]
    back_at = [0.0, 0.1]  # when each connects next, which throws the other out
    since = [0.0, 0.0]
    inside: int | None = None
    starts = []
    while len(starts) < 200:
        comes = min((0, 1), key=lambda k: back_at[k])
        now = back_at[comes]
        if inside is not None and inside != comes:
            back_at[inside] = now + both[inside].ended(now - since[inside])
        inside = comes
        since[comes] = now
        back_at[comes] = float("inf")
        starts.append(now)
    # 132 times in two minutes before; now a few times, and then once in a quarter of a minute.
    assert sum(start < 120.0 for start in starts) < 25
    late = [one - other for one, other in zip(starts[101:], starts[100:], strict=False)]
    assert sum(late) / len(late) > 10.0


def test_a_long_connection_makes_all_forgotten() -> None:
    patience = Patience(DELAYS, Steady())
    for _ in range(8):
        patience.ended(1.0)
    assert patience.ended(CALM_SECONDS) == 0.5
    assert not patience.crowded


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.sampled_from([0.1, QUICK_SECONDS, 60.0, CALM_SECONDS, 1e5])),
        max_size=30,
    )
)
def test_no_wait_leaves_its_bounds_and_a_lost_network_is_no_crowd(ends: list[float | None]) -> None:
    patience = Patience(DELAYS, Steady())
    for seconds in ends:
        waited = patience.failed() if seconds is None else patience.ended(seconds)
        assert DELAYS.first <= waited <= DELAYS.longest
        if seconds is not None and seconds >= QUICK_SECONDS:
            assert not patience.crowded
