"""The device's own classifier that starts from the federation, on people who took no part.

    python -m benchmarks.personal

It needs FSIR_DATA (or ../shared/data) with uci_har.

The federation is imitated, not run: principal components of 20 people's records, whitened within
classes, and centres to which noise of `CENTRE_ERROR` spreads per coordinate is added. The nine
unseen people then label all, a fifth or a twentieth of their records, in the order of the recording
or in any. Every record is answered, and scored whether it has a label or not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from edge_agent.recognition.personal import FLOAT, Personal, Prior
from edge_agent.recognition.recogniser import Recogniser
from fsir.arrays import Integers, Matrix
from sim_devices.datasets.har import har
from sim_devices.datasets.population import DataError, DeviceStream, Population
from sim_devices.scenarios.scenarios import data_directory

COORDINATES = 60
CENTRE_ERROR = 0.3  # spreads, per coordinate; stands for the noise of privacy
MEMBERS = 20  # people
TRUNCATE = 4.0  # standard deviations
SHARES = {"all": 1.0, "a fifth": 0.2, "a twentieth": 0.05}  # of the records have labels
SEEDS = range(5)
LARGEST = 150  # coordinates, for the cost of one record


class Federation:
    """What a federation without noise but that of its centres would say."""

    def __init__(self, population: Population, seed: int) -> None:
        members = population.devices[:MEMBERS]
        X = np.concatenate([member.X for member in members])
        labels = np.concatenate([member.y for member in members])
        self._mean = X.mean(axis=0)
        self._scale = np.maximum(X.std(axis=0), 1e-6)
        Z = self._standard(X)
        axes = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)[2][:COORDINATES].T
        groups = [(Z @ axes)[labels == name] for name in population.classes]
        within = sum(len(group) * np.cov(group.T, bias=True) for group in groups) / len(Z)
        values, vectors = np.linalg.eigh(within)
        whitening = vectors / np.sqrt(values)
        noise = np.random.default_rng(seed).normal(size=(len(groups), COORDINATES))
        centres = np.array([group.mean(axis=0) for group in groups]) @ whitening
        centres += CENTRE_ERROR * noise
        shares = np.array([len(group) for group in groups]) / len(Z)
        self._matrix = axes @ whitening
        self.prior = Prior(classes=population.classes, centres=centres, shares=shares)
        middle = centres - shares @ centres
        spans = np.linalg.svd(np.sqrt(shares)[:, None] * middle, full_matrices=False)[2]
        self.directions = spans[: len(groups) - 1].T

    def _standard(self, X: Matrix) -> Matrix:
        return np.asarray(np.clip((X - self._mean) / self._scale, -TRUNCATE, TRUNCATE))

    def coordinates(self, X: Matrix) -> Any:
        """Rows in which every class has unit covariance."""
        return (self._standard(X) @ self._matrix).astype(FLOAT)

    def classes_of(self, V: Matrix) -> list[str]:
        """The federation's own answers."""
        gaps = V[:, None] - self.prior.centres
        rule = np.log(self.prior.shares) - 0.5 * (gaps**2).sum(axis=2)
        return [self.prior.classes[h] for h in rule.argmax(axis=1)]


def run() -> dict[str, float]:
    """All figures; none where the set is not there."""
    try:
        population = har(data_directory() / "uci_har", levels=False)
    except (DataError, OSError) as error:
        print(f"personal: NOT MEASURED: {error}", file=sys.stderr)
        return {}
    federations = [Federation(population, seed) for seed in SEEDS]
    figures: dict[str, float] = {}
    for ordered in (True, False):
        for name, share in SHARES.items():
            kind = f"{'in order' if ordered else 'in any order'}, {name} labelled"
            people = [
                person(federation, stream, order, labelled)
                for seed, federation in zip(SEEDS, federations, strict=True)
                for stream, order, labelled in streams(population, seed, share, ordered)
            ]
            figures |= {
                f"{kind}: {who}": float(np.mean([each[who] for each in people]))
                for who in people[0]
            }
            gains = [each["what the agent says"] - each["the federation alone"] for each in people]
            figures[f"{kind}: what the agent gains, least of all people"] = min(gains)
    return figures | cost()


def streams(
    population: Population, seed: int, share: float, ordered: bool
) -> Iterator[tuple[DeviceStream, Integers, list[bool]]]:
    """The people who took no part, the order of their records, and which of them have labels."""
    for number, stream in enumerate(population.unseen):
        rng = np.random.default_rng([seed, number])
        n = len(stream)
        order = np.arange(n) if ordered else rng.permutation(n)
        yield stream, order, (rng.random(n) < share).tolist()


def person(
    federation: Federation, stream: DeviceStream, order: Integers, labelled: list[bool]
) -> dict[str, float]:
    """How often each was right about one person."""
    V = federation.coordinates(stream.X[order])
    labels = stream.y[order].tolist()
    told = federation.classes_of(V)
    few = (V @ federation.directions).tolist()
    agreement = np.array(told) == stream.y[order]
    figures = {"the federation alone": float(agreement.mean())}
    for prior, own, agent in (
        (None, "naive Bayes on five numbers", "the agent with naive Bayes"),
        (federation.prior, "from the federation on", "what the agent says"),
    ):
        recogniser = Recogniser(federation.prior.classes, prior=prior)
        right = []
        for v, z, said, label, known in zip(V, few, told, labels, labelled, strict=True):
            answer = recogniser.answer(tuple(z), said, 0.0, v.tobytes())
            right.append((answer.device == label, answer.said == label))
            if known:
                recogniser.learn(answer, label)
        figures[own], figures[agent] = np.mean(right, axis=0).tolist()
    return figures


def cost() -> dict[str, float]:
    """Of one record with as many coordinates as a task of this size has."""
    rng = np.random.default_rng(0)
    classes = tuple("abcdef")
    centres = rng.normal(size=(6, LARGEST))
    model = Personal(Prior(classes=classes, centres=centres, shares=np.full(6, 1 / 6)))
    rows = rng.normal(size=(500, LARGEST)).astype(FLOAT)
    begun = time.perf_counter()
    for k, v in enumerate(rows):
        model.scores(v)
        model.learn(v, classes[k % 6])
    spent = time.perf_counter() - begun
    kept = sum(len(value) for value in model.table().values() if isinstance(value, bytes))
    return {
        f"microseconds per labelled record, {LARGEST} coordinates": 1e6 * spent / len(rows),
        f"bytes in the state file, {LARGEST} coordinates": float(kept),
    }


if __name__ == "__main__":
    for figure, value in run().items():
        print(f"{figure:<72} {value:10.4f}")
