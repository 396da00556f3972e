"""Sets of rounds as short texts, one text for each set: a device that skips none has `1-52`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache


def text_of(rounds: Iterable[int]) -> str:
    """The text of a set.

    >>> text_of([5, 1, 2, 3]), text_of([])
    ('1-3,5', '')
    """
    stretches: list[list[int]] = []
    for round in sorted(set(rounds)):
        if stretches and stretches[-1][1] == round - 1:
            stretches[-1][1] = round
        else:
            stretches.append([round, round])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in stretches)


@lru_cache(maxsize=1 << 14)  # most sets of one estimate are those of the last one
def rounds_of(text: str) -> tuple[int, ...]:
    """The rounds of a set, in their order.

    >>> rounds_of("1-3,5"), rounds_of("")
    ((1, 2, 3, 5), ())
    """
    rounds: list[int] = []
    for stretch in text.split(",") if text else ():
        low, _, high = stretch.partition("-")
        rounds += range(int(low), int(high or low) + 1)
    return tuple(rounds)
