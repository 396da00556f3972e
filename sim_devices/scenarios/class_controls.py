"""Controls where the response is a class: how often would others name an unseen record rightly?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix
from fsir.wire.messages import Subspace
from sim_devices.datasets.population import DeviceStream, Population
from sim_devices.scenarios import lda
from sim_devices.scenarios.control import Control, Measure, Variant, measured
from sim_devices.scenarios.evaluation import accuracy
from sim_devices.scenarios.proposed import varying_columns
from sim_devices.scenarios.scenarios import Scenario

MOST_ALONE = 10  # devices that are tried alone, evenly spread: the mean of more says the same


@dataclass(frozen=True, eq=False, kw_only=True)
class Models:
    """The classifiers that are learned without the task."""

    sample: Mapping[str, lda.Linear]  # from the public sample, by the name of each way
    each: Sequence[lda.Linear]  # from one device alone
    pooled: lda.Linear


def models(scenario: Scenario) -> Models:
    """Learn them."""
    sample = _sample(scenario)
    devices = _whole(scenario).devices
    return Models(
        sample={} if sample is None else _fits(scenario, sample, varying_columns(sample)),
        each=[lda.plain(stream.X, stream.y) for stream in spread(devices)],
        pooled=lda.plain(*together(devices)),
    )


def of_classes(
    scenario: Scenario, learned: Models, subspace: Subspace, alone: Variant | None, quiet: Variant
) -> Iterator[Control]:
    """All of them: guessing, what is public, one device, no noise, everything in one place."""
    whole = _whole(scenario)
    yield measured("always the commonest class", _guessing(whole), whole.unseen, public=True)
    yield from _of_sample(scenario, learned, subspace)
    if alone is not None:
        yield _of_variant(alone, public=True)
    yield _one_device(learned, whole)
    yield _of_variant(quiet, private=False)
    pooled = _naming(learned.pooled)
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


def _of_variant(variant: Variant, *, public: bool = False, private: bool = True) -> Control:
    if variant.judged is None:
        raise AssertionError(f"{variant.name}: of classes, and nobody has judged it")
    return Control(
        name=variant.name,
        score=variant.judged.accuracy,
        public=public,
        private=private,
        measure=lambda streams: accuracy(variant.task, variant.subspace, streams),
    )


def _naming(model: lda.Linear, columns: list[int] | None = None) -> Measure:
    """The share of records that a model names rightly, by these features or by all of them."""

    def right(streams: Sequence[DeviceStream]) -> float:
        X, y = together(streams)
        return float(np.mean(model.predict(X if columns is None else X[:, columns]) == y))

    return right


def _one_device(learned: Models, whole: Population) -> Control:
    scores = [_naming(model)(whole.unseen) for model in learned.each]
    name = f"one device alone: plain LDA (mean of {len(scores)})"
    return Control(name=name, score=float(np.mean(scores)))


def _whole(scenario: Scenario) -> Population:
    """The people with all of their features."""
    return scenario.whole or scenario.population


def _sample(scenario: Scenario) -> DeviceStream | None:
    return scenario.public or scenario.volunteer


def _fits(scenario: Scenario, sample: DeviceStream, columns: list[int]) -> dict[str, lda.Linear]:
    """What the sample says by these features, in each way."""
    X = sample.X[:, columns]
    return {way: fit(X, sample.y) for way, fit in scenario.ways.items()}


def _of_sample(scenario: Scenario, learned: Models, subspace: Subspace) -> Iterator[Control]:
    """The public sample alone, without clips, as anybody would use it."""
    sample = _sample(scenario)
    if sample is None:
        return
    whole = _whole(scenario)
    every = varying_columns(sample)
    fits = [(every, learned.sample)]
    kept = [whole.features.index(name) for name in subspace.features]
    if len(kept) < len(every):
        fits.append((kept, _fits(scenario, sample, kept)))
    for columns, by_way in fits:
        for way, model in by_way.items():
            name = f"{scenario.called} alone: {way}, {len(columns)} features"
            yield measured(name, _naming(model, columns), whole.unseen, public=True)
