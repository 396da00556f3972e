"""Recognition on the device, on the continuous recordings of 30 people:
which classifier, how good, and when it warns.

    python -m benchmarks.recognition

It needs FSIR_DATA (or ../shared/data) with hapt/hapt_raw.npz.

A subspace is learned from 20 people with total epsilon 1, delta 1e-6 and unit_records 2. The nine
who took no part then use it: they label everything, or only the first of their two recordings. A
phone turned by 90 or 180 degrees in its pouch is the change that the watches should notice; each
person's stream, repeated, is the one they should not.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np

from benchmarks._people import SEEDS, Person, setting
from benchmarks._watches import watches
from edge_agent.recognition.recogniser import Recogniser
from sim_devices.datasets import hapt
from sim_devices.datasets.population import DataError
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import without_network
from sim_devices.scenarios.tasks import build

Model = Callable[[], Any]


def run() -> dict[str, float]:
    """All figures; none where the recordings are not there."""
    try:
        return classifiers(levels=True) | classifiers(levels=False) | watches()
    except DataError as error:
        print(f"recognition: NOT MEASURED: {error}", file=sys.stderr)
        return {}


def models() -> dict[str, Model]:
    """What was compared. Scaled ones see every number divided by its running spread."""
    from river import linear_model, naive_bayes, neighbors, optim, preprocessing, tree

    def knn() -> Any:
        return neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=500))

    return {
        "Gaussian naive Bayes": naive_bayes.GaussianNB,
        "5 nearest of 500": knn,
        "5 nearest of 500, scaled": lambda: preprocessing.StandardScaler() | knn(),
        "softmax regression": linear_model.SoftmaxRegression,
        "softmax regression, scaled, rate 0.1": lambda: (
            preprocessing.StandardScaler()
            | linear_model.SoftmaxRegression(optimizer=optim.SGD(0.1))
        ),
        "Hoeffding tree": lambda: tree.HoeffdingTreeClassifier(grace_period=50),
        "Hoeffding adaptive tree": lambda: tree.HoeffdingAdaptiveTreeClassifier(
            grace_period=50, seed=1
        ),
    }


def second_recording(activities: list[str]) -> int:
    """Where the second recording begins: both go through the postures first, then walk."""
    at = 0
    walked = False
    for activity, group in groupby(activities):
        if walked and not activity.startswith("WALKING"):
            return at
        walked |= activity.startswith("WALKING")
        at += len(list(group))
    return at


def classifiers(levels: bool) -> dict[str, float]:
    """Accuracy of each classifier, and of what the agent says, for the people who took no part."""
    folder = scenarios.data_directory() / "hapt"
    scenario = scenarios.hapt(folder, levels, "subject-01", scenarios.CHOSEN)
    splits = [
        second_recording(stream.y.tolist()) for stream in hapt.hapt(folder, levels=False).unseen
    ]
    population = scenario.population
    correct = Counter[str]()
    count = len(SEEDS) * len(population.unseen)
    for seed in SEEDS:
        task = build(population, scenario.geometry, setting(levels))
        subspace = without_network(task, population.devices, seed)
        for stream, split in zip(population.unseen, splits, strict=True):
            person = Person(task, subspace, stream, split)
            for name, make in models().items():
                correct[f"{name}, second recording"] += second(make(), person) / count
            figures = prequential(person, population.classes)
            correct.update({name: value / count for name, value in figures.items()})
    kind = "levels" if levels else "six"
    return {f"{kind}: {name}": value for name, value in correct.items()}


def second(model: Any, person: Person) -> float:
    """Learn the first recording, then recognise the second without a label."""
    for z, label in zip(person.z[: person.split], person.labels, strict=False):
        model.learn_one(dict(enumerate(z)), label)
    answers = [model.predict_one(dict(enumerate(z))) for z in person.z[person.split :]]
    return _agreement(answers, person.labels[person.split :])


def _agreement(answers: list[str], labels: list[str]) -> float:
    return float(np.mean([said == label for said, label in zip(answers, labels, strict=True)]))


def prequential(person: Person, classes: tuple[str, ...]) -> dict[str, float]:
    """The agent's recogniser: every record is predicted, then its label comes.
    And what it says afterwards."""
    recogniser = Recogniser(classes)
    begun = time.perf_counter()
    for z, federation, confidence, label in person.records():
        recogniser.learn(recogniser.answer(z, federation, confidence), label)
    spent = time.perf_counter() - begun
    shares = recogniser.scores.summary()["accuracy"]
    again = Recogniser(classes)
    right = []
    for k, (z, federation, confidence, label) in enumerate(person.records()):
        answer = again.answer(z, federation, confidence)
        if k < person.split:
            again.learn(answer, label)
        else:
            right.append(answer.said == label)
    labels = person.labels
    of_federation = _agreement(person.federation[person.split :], labels[person.split :])
    return {
        "what the agent says, second recording": float(np.mean(right)),
        "the federation's classifier, second recording": of_federation,
        **{f"{who}, every record labelled": share for who, share in shares.items()},
        "the label of the record before": _agreement(labels[:-1], labels[1:]),
        "microseconds per record": 1e6 * spent / len(person.z),
    }


if __name__ == "__main__":
    for figure, value in run().items():
        print(f"{figure:<72} {value:10.4f}")
