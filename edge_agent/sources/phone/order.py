"""Streams of a phone's sensors side by side, each in its order of arrival, none far ahead."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from edge_agent.signal.grid import HOP, RATE
from edge_agent.sources.phone.readings import Vector
from edge_agent.sources.samples import STANDARD_GRAVITY, Samples

BLOCK_NS = round(HOP / RATE * 1e9)
TOGETHER_NS = 10**8  # within which all sensors notice that the phone's clock has stepped back

Stream = list[tuple[int, Vector]]  # nanoseconds since the epoch, values


class _Place(NamedTuple):
    """Where a reading goes among those of other streams."""

    steps: int  # back of the clock, so far
    block: int
    stream: int


class Reached:
    """How far so many streams have got, from message to message."""

    def __init__(self, streams: int) -> None:
        self.last = [-1] * streams
        self.steps = [0] * streams  # back of the clock that each of them has noticed


def side_by_side(streams: Sequence[Stream], reached: Reached) -> list[Samples]:
    """Streams, the last one of which is the gyroscope, in pieces that put none far ahead.

    Where a clock steps back, they step back together: whatever arrived before the step goes before
    it.
    reached: how far each stream had got before; brought up to date.
    """
    last = reached.last
    placed: list[tuple[_Place, int, Vector]] = []
    at = [0] * len(streams)
    steps = 0
    limit = -1

    def reach(stream: int) -> int:
        """How far its next reading gets.

        If a stray one is far ahead of its neighbours, no further than they. After a step it has
        none before it: the clock may step again.
        """
        instant, *after = (time for time, _ in streams[stream][at[stream] : at[stream] + 2])
        stray = after and last[stream] >= 0 and instant > after[0] + BLOCK_NS
        return max(last[stream], after[0]) if stray else instant

    while left := [k for k in range(len(streams)) if at[k] < len(streams[k])]:
        rising = [k for k in left if streams[k][at[k]][0] >= last[k]]
        falling = [k for k in left if k not in rising]
        first = min(rising, key=reach, default=None)
        if falling and first is not None and limit < 0:
            limit = reach(first) + TOGETHER_NS
        if first is None or (falling and reach(first) > limit):
            steps += 1
            limit = -1
            for k in falling if first is not None else _behind(falling, reached.steps):
                last[k] = -1
                reached.steps[k] += 1
        else:
            last[first] = reach(first)
            place = _Place(steps, last[first] // BLOCK_NS, first)
            placed.append((place, *streams[first][at[first]]))
            at[first] += 1
    return _pieces(placed, gyroscope=len(streams) - 1)


def _behind(streams: Sequence[int], steps: Sequence[int]) -> list[int]:
    """Those that have noticed the fewest steps: a clock may step again before all have noticed."""
    fewest = min(steps[k] for k in streams)
    return [k for k in streams if steps[k] == fewest]


def _pieces(placed: list[tuple[_Place, int, Vector]], gyroscope: int) -> list[Samples]:
    """Readings of one stream and one block together, in the order of their places."""
    placed.sort(key=lambda entry: entry[0])  # stable: a stream stays in its order of arrival
    pieces = []
    for place, group in groupby(placed, key=lambda entry: entry[0]):
        part = list(group)
        times = np.array([instant / 1e9 for _, instant, _ in part])
        values = np.array([vector for _, _, vector in part])
        if place.stream == gyroscope:
            pieces.append(Samples(times=times, gyro=values))
        else:
            pieces.append(Samples(times=times, acc=values / STANDARD_GRAVITY))
    return pieces
