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
from sim_devices.scenarios.control import Control, Variant
from sim_devices.scenarios.evaluation import accuracy
from sim_devices.scenarios.scenarios import Scenario

MOST_ALONE = 10  # devices that are tried alone, evenly spread: the mean of more says the same


def of_classes(
    scenario: Scenario, subspace: Subspace, alone: Variant | None, quiet: Variant
) -> Iterator[Control]:
    """All of them: guessing, what is public, one device, no noise, everything in one place."""
    whole = scenario.whole or scenario.population
    unseen = scenario.population.unseen
    yield Control(name="always the commonest class", score=_guessed(whole), public=True)
    yield from _of_sample(scenario, whole, subspace)
    if alone is not None:
        score = accuracy(alone.task, alone.subspace, unseen)
        yield Control(name=alone.name, score=score, public=True)
    yield _one_device(whole)
    score = accuracy(quiet.task, quiet.subspace, unseen)
    yield Control(name=quiet.name, score=score, private=False)
    pooled = _right(lda.plain(*together(whole.devices)), whole)
    yield Control(
        name="all records in one place: plain LDA (not private)", score=pooled, private=False
    )


def together(streams: Sequence[DeviceStream]) -> tuple[Matrix, NDArray[Any]]:
    """All records of these people, and their responses."""
    X = np.concatenate([stream.X for stream in streams])
    return X, np.concatenate([stream.y for stream in streams])


def spread(devices: Sequence[DeviceStream]) -> list[DeviceStream]:
    """At most `MOST_ALONE` of the devices, evenly spread."""
    chosen = np.linspace(0, len(devices) - 1, min(len(devices), MOST_ALONE))
    return [devices[int(k)] for k in chosen]


def _guessed(whole: Population) -> float:
    labels, counts = np.unique(together(whole.devices)[1], return_counts=True)
    return float(np.mean(together(whole.unseen)[1] == labels[counts.argmax()]))


def _right(model: lda.Linear, whole: Population, columns: list[int] | None = None) -> float:
    X, y = together(whole.unseen)
    return float(np.mean(model.predict(X if columns is None else X[:, columns]) == y))


def _one_device(whole: Population) -> Control:
    tried = spread(whole.devices)
    scores = [_right(lda.plain(stream.X, stream.y), whole) for stream in tried]
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
        for how, fit in (("plain", lda.plain), ("shrunken", lda.shrunken)):
            name = f"the volunteer alone: {how} LDA, {len(columns)} features"
            yield Control(name=name, score=_right(fit(X, sample.y), whole, columns), public=True)
