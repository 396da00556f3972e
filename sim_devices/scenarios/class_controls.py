"""Controls where the response is a class: how often would others name an unseen record rightly?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix
from fsir.task.public_sample import varying
from fsir.wire.messages import Subspace
from sim_devices.datasets.population import DeviceStream, Population
from sim_devices.scenarios import lda
from sim_devices.scenarios.control import Control, Measure, Variant, measured
from sim_devices.scenarios.evaluation import accuracy
from sim_devices.scenarios.scenarios import Scenario

MOST_ALONE = 10  # devices that are tried alone, evenly spread: the mean of more says the same


def of_classes(
    scenario: Scenario, subspace: Subspace, alone: Variant | None, quiet: Variant
) -> Iterator[Control]:
    """All of them: guessing, what is public, one device, no noise, everything in one place."""
    whole = scenario.whole or scenario.population
    unseen = scenario.population.unseen
    yield measured("always the commonest class", _guessing(whole), whole.unseen, public=True)
    yield from _of_sample(scenario, whole, subspace)
    if alone is not None:
        yield measured(alone.name, _measure(alone), unseen, public=True)
    yield _one_device(whole)
    yield measured(quiet.name, _measure(quiet), unseen, private=False)
    pooled = _naming(lda.plain(*together(whole.devices)))
    name = "all records in one place: plain LDA (not private)"
    yield measured(name, pooled, whole.unseen, private=False)


def together(streams: Sequence[DeviceStream]) -> tuple[Matrix, NDArray[Any]]:
    """All records of these people, and their responses."""
    X = np.concatenate([stream.X for stream in streams])
    return X, np.concatenate([stream.y for stream in streams])


def spread(devices: Sequence[DeviceStream]) -> list[DeviceStream]:
    """At most `MOST_ALONE` of the devices, evenly spread."""
    chosen = np.linspace(0, len(devices) - 1, min(len(devices), MOST_ALONE))
    return [devices[int(k)] for k in chosen]


def _guessing(whole: Population) -> Measure:
    labels, counts = np.unique(together(whole.devices)[1], return_counts=True)
    commonest = labels[counts.argmax()]
    return lambda streams: float(np.mean(together(streams)[1] == commonest))


def _measure(variant: Variant) -> Measure:
    return lambda streams: accuracy(variant.task, variant.subspace, streams)


def _naming(model: lda.Linear, columns: list[int] | None = None) -> Measure:
    """The share of records that a model names rightly, by these features or by all of them."""

    def right(streams: Sequence[DeviceStream]) -> float:
        X, y = together(streams)
        return float(np.mean(model.predict(X if columns is None else X[:, columns]) == y))

    return right


def _one_device(whole: Population) -> Control:
    tried = spread(whole.devices)
    scores = [_naming(lda.plain(stream.X, stream.y))(whole.unseen) for stream in tried]
    name = f"one device alone: plain LDA (mean of {len(tried)})"
    return Control(name=name, score=float(np.mean(scores)))


def _of_sample(scenario: Scenario, whole: Population, subspace: Subspace) -> Iterator[Control]:
    """The public sample alone, without clips, as anybody would use it."""
    sample = scenario.public or scenario.volunteer
    if sample is None:
        return
    every = np.flatnonzero(varying(sample.X)).tolist()  # the others tell nothing apart
    kept = [whole.features.index(name) for name in subspace.features]
    for columns in (every, kept) if len(kept) < len(every) else (every,):
        X = sample.X[:, columns]
        for way, fit in scenario.ways.items():
            name = f"{scenario.called} alone: {way}, {len(columns)} features"
            yield measured(name, _naming(fit(X, sample.y), columns), whole.unseen, public=True)
