"""Who is public, who takes part, and who is asked afterwards.

Without being told, the first devices of the table are public, as few as needed: one after another
until there are two records of every class. So nothing but the order of the table decides; of the
others a share by lot takes no part, and is the test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fsir.errors import FsirError
from fsir.tables.csv_table import some
from sim_devices.own.responses import Responses
from sim_devices.own.rows import Rows
from sim_devices.own.sample import Sample, sample_of, short_of

FEWEST_DEVICES = 2  # that take part: with one there is nothing to add up
FEWEST_UNSEEN = 3  # where there are devices enough: one or two people say little about others
_FEWEST_IN_ALL = FEWEST_DEVICES + 2


def check_devices(rows: Rows) -> None:
    """Refuse a table that is of too few devices, or in which every row is a device."""
    counts = Counter(rows.devices)
    asked = "the file names" if rows.by is None else rows.said("by", rows.by)
    need = (
        f"a federation takes at least {_FEWEST_IN_ALL}: one that is public, {FEWEST_DEVICES} that "
        "take part and one that is asked afterwards"
    )
    remedy = "name the column that tells devices apart, or give one file for each device"
    if len(counts) < _FEWEST_IN_ALL:
        named = "1 device" if len(counts) == 1 else f"{len(counts)} devices"
        raise FsirError(f"{asked}: {named} ({some(counts)}), and {need}; {remedy}")
    if np.median(list(counts.values())) < 2:
        raise FsirError(
            f"{asked}: {len(rows.devices)} rows are of {len(counts)} devices, most of which have "
            "a single one; name a column whose values repeat, so that a device has many records"
        )


def public_sample(
    rows: Rows, responses: Responses, named: Sequence[str], slices: int
) -> tuple[tuple[str, ...], Sample]:
    """Who is public, and what these records tell."""
    return _as_told(rows, responses, named, slices) if named else _by_order(rows, responses, slices)


def _as_told(
    rows: Rows, responses: Responses, named: Sequence[str], slices: int
) -> tuple[tuple[str, ...], Sample]:
    order = rows.order()
    for name in named:
        if name not in order:
            raise FsirError(
                f"{rows.said('public', name)}: there is no such device; there are {some(order)}"
            )
    most = len(order) - FEWEST_DEVICES - 1
    if len(set(named)) > most:
        raise FsirError(
            f"{rows.said('public', ','.join(named))}: of {len(order)} devices at most {most} can "
            f"be public, for {FEWEST_DEVICES} must take part and one be asked afterwards"
        )
    people = tuple(dict.fromkeys(named))
    found = _tried(rows, responses, people, slices)
    if isinstance(found, str):
        raise FsirError(
            f"{rows.said('public', ','.join(named))}: the public sample lacks {found}; name more "
            f"devices, {_otherwise(responses)}"
        )
    return people, found


def _by_order(rows: Rows, responses: Responses, slices: int) -> tuple[tuple[str, ...], Sample]:
    order = rows.order()
    lacking = ""
    for count in range(1, len(order) - FEWEST_DEVICES):
        people = tuple(order[:count])
        found = _tried(rows, responses, people, slices)
        if not isinstance(found, str):
            return people, found
        lacking = found
    raise FsirError(
        f"nobody is left to take part: even {len(order) - FEWEST_DEVICES - 1} of {len(order)} "
        f"devices together lack {lacking}, and a public sample needs them; "
        f"{_otherwise(responses)}, or name other devices by {rows.said('public', 'NAME,...')}"
    )


def _tried(rows: Rows, responses: Responses, people: Sequence[str], slices: int) -> Sample | str:
    """The sample of these people, or what it lacks: with all of its rows, or with those in use."""
    y = responses.y[rows.of(people) & responses.known]
    if (lacking := short_of(responses, y, slices)) is not None:
        return lacking
    sample = sample_of(rows, responses, people, slices)
    return short_of(responses, sample.y, slices) or sample


def _otherwise(responses: Responses) -> str:
    return "leave the rows of that class out" if responses.classes else "ask for fewer slices"


def draw_unseen(others: Sequence[str], share: float, seed: int) -> tuple[str, ...]:
    """Who takes no part: a share by lot, three at least where there are enough.

    >>> draw_unseen([f"device-{k}" for k in range(10)], 0.3, seed=1)
    ('device-3', 'device-4', 'device-7')
    """
    asked = round(share * len(others))
    wanted = max(asked, min(FEWEST_UNSEEN, len(others) // 2), 1)
    count = min(wanted, len(others) - FEWEST_DEVICES)
    chosen = np.random.default_rng(seed).choice(len(others), count, replace=False)
    return tuple(others[k] for k in sorted(chosen.tolist()))
