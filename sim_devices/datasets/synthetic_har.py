"""Invented people with a phone at the waist:
50 Hz signals of six activities, then the agent's own features.

How they move is told in `synthetic_motion`, what one of them does in `synthetic_stream`. Figures
obtained with it say that the machinery works, not how well real people can be told apart.
"""

from __future__ import annotations

from edge_agent.signal.features import FEATURE_NAMES
from sim_devices.datasets.inventing import invented
from sim_devices.datasets.population import (
    ACTIVITIES,
    DataError,
    DeviceStream,
    Population,
    with_levels,
)
from sim_devices.datasets.synthetic_stream import stream

CAVEATS = (
    "invented people: the figures show that the machinery works, not how well real people can be "
    "told apart",
)


def synthetic_har(
    people: int = 30,
    windows: int = 300,
    seed: int = 0,
    *,
    unseen: int | None = None,
    levels: bool = True,
    names: tuple[str, ...] = FEATURE_NAMES,
) -> Population:
    """`people` invented persons with `windows` records each;
    the last `unseen` of them (three in ten) take no part.

    levels: active / sedentary / lying instead of the six activities. names: the features wanted.
    Person k of a seed is the same however many people there are.
    """
    unseen = max(people * 3 // 10, 1) if unseen is None else unseen
    if not 1 <= unseen < people or windows < len(ACTIVITIES):
        least = f"at least one device, one unseen person and {len(ACTIVITIES)} windows"
        raise DataError(
            f"{people} people, {unseen} of them unseen, {windows} windows: there must be {least}"
        )
    if strange := sorted(set(names) - set(FEATURE_NAMES)):
        raise DataError(
            f"{strange[:3]} are not among the {len(FEATURE_NAMES)} features of this pipeline"
        )
    columns = [FEATURE_NAMES.index(name) for name in names]
    streams = invented(people, windows, seed, columns)
    return _population(streams[: people - unseen], streams[people - unseen :], names, levels)


def first(windows: int, seed: int, *, levels: bool = True) -> Population:
    """The first of them alone."""
    columns = list(range(len(FEATURE_NAMES)))
    return _population((stream(1, windows, seed, columns),), (), FEATURE_NAMES, levels)


def _population(
    devices: tuple[DeviceStream, ...],
    unseen: tuple[DeviceStream, ...],
    names: tuple[str, ...],
    levels: bool,
) -> Population:
    population = Population(
        name="synthetic-har",
        features=names,
        classes=ACTIVITIES,
        devices=devices,
        unseen=unseen,
        caveats=CAVEATS,
    )
    return with_levels(population) if levels else population
