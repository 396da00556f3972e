"""Recognition on the device, on the continuous recordings of 30 people: which classifier, how good,
and when it warns.

    python -m benchmarks.recognition            needs FSIR_DATA (or ../shared/data) with hapt/hapt_raw.npz

A subspace is learned from 20 people with total epsilon 1, delta 1e-6 and unit_records 2. The nine
who took no part then use it: they label everything, or only the first of their two recordings. A
phone turned by 90 or 180 degrees in its pouch is the change that the watches should notice; each
person's stream, repeated, is the one they should not.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from edge_agent.recognition.recogniser import Recogniser
from edge_agent.signal.features import FEATURE_NAMES
from fsir.estimate.projection import Projector
from fsir.task.task import Task
from fsir.wire.messages import Subspace
from sim_devices.datasets import hapt
from sim_devices.datasets.population import LEVEL_OF, DataError, DeviceStream
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import columns, without_network
from sim_devices.scenarios.tasks import Setting, build

SEEDS = range(5)
WATCHED = SEEDS[2:]  # the others were used to choose the settings of the watches
REPEATS = 10  # of a person's stream, to look for false alarms
QUARTER = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
HALF = np.diag([-1.0, -1.0, 1.0])
Model = Callable[[], Any]
Told = tuple[
    tuple[float, ...], str, float, str
]  # z, the federation's class and its confidence, label


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


class Person:
    """One person's records under a subspace."""

    def __init__(
        self, task: Task, subspace: Subspace, stream: DeviceStream, split: int = 0
    ) -> None:
        rows = stream.X[:, columns(task, subspace)]
        projector = Projector(task, subspace)
        self.z: list[tuple[float, ...]] = [tuple(row) for row in projector.project(rows).tolist()]
        self.federation, chances = projector.classify(rows)
        self.chances = chances.tolist()
        self.labels = stream.y.tolist()
        self.split = split

    def records(self) -> Iterator[Told]:
        """All records in their order."""
        return zip(self.z, self.federation, self.chances, self.labels, strict=True)


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
            correct.update(
                {
                    name: value / count
                    for name, value in prequential(person, population.classes).items()
                }
            )
    kind = "levels" if levels else "six"
    return {f"{kind}: {name}": value for name, value in correct.items()}


def setting(levels: bool) -> Setting:
    """As `fsir-sim hapt`."""
    return Setting(epsilon=1.0, delta=1e-6, unit_records=2, dimension=2 if levels else None)


def second(model: Any, person: Person) -> float:
    """Learn the first recording, then recognise the second without a label."""
    for z, label in zip(person.z[: person.split], person.labels, strict=False):
        model.learn_one(dict(enumerate(z)), label)
    answers = [model.predict_one(dict(enumerate(z))) for z in person.z[person.split :]]
    return float(
        np.mean(
            [a == label for a, label in zip(answers, person.labels[person.split :], strict=True)]
        )
    )


def prequential(person: Person, classes: tuple[str, ...]) -> dict[str, float]:
    """The agent's recogniser: every record is predicted, then its label comes. And what it says
    afterwards."""
    recogniser = Recogniser(classes)
    begun = time.perf_counter()
    for z, federation, chance, label in person.records():
        recogniser.learn(recogniser.answer(z, federation, chance), label)
    spent = time.perf_counter() - begun
    shares = recogniser.scores.summary()["accuracy"]
    again = Recogniser(classes)
    right = []
    for k, (z, federation, chance, label) in enumerate(person.records()):
        answer = again.answer(z, federation, chance)
        if k < person.split:
            again.learn(answer, label)
        else:
            right.append(answer.said == label)
    last = np.mean([a == b for a, b in zip(person.labels[1:], person.labels, strict=False)])
    return {
        "what the agent says, second recording": float(np.mean(right)),
        "the federation's classifier, second recording": float(
            np.mean(
                [a == b for a, b in zip(person.federation, person.labels, strict=True)][
                    person.split :
                ]
            )
        ),
        **{f"{who}, every record labelled": share for who, share in shares.items()},
        "the label of the record before": float(last),
        "microseconds per record": 1e6 * spent / len(person.z),
    }


def watches() -> dict[str, float]:
    """False alarms on streams that do not change, and the delay after a turn of the phone, per
    watch."""
    folder = scenarios.data_directory() / "hapt"
    scenario = scenarios.hapt(folder, True, "subject-01", scenarios.CHOSEN)
    recordings = hapt.read_recordings(folder)
    chosen = [FEATURE_NAMES.index(name) for name in scenario.population.features]
    turned = {
        name: [_levels(stream).with_columns(chosen) for stream in _streams(recordings, turn)]
        for name, turn in (
            ("as it was", np.eye(3)),
            ("turned by 90 degrees", QUARTER),
            ("turned by 180 degrees", HALF),
        )
    }
    figures: Counter[str] = Counter()
    delays: dict[str, list[int | None]] = {}
    for seed in WATCHED:
        task = build(scenario.population, scenario.geometry, setting(True))
        subspace = without_network(task, scenario.population.devices, seed)
        people = {
            name: [Person(task, subspace, stream) for stream in them]
            for name, them in turned.items()
        }
        for k, person in enumerate(people["as it was"]):
            still = list(person.records())
            figures["records without a change"] += REPEATS * len(still)
            for what in alarms(task.response.classes, still * REPEATS):
                figures[f"false alarms by {what}"] += 1
            for name in list(turned)[1:]:
                changed = list(people[name][k].records())
                key = f"{name}, {_verdict(still, changed)}"
                heard = alarms(task.response.classes, still * 3 + changed * 3, since=3 * len(still))
                for what in ("errors", "distance"):
                    at = heard.get(what)
                    delays.setdefault(f"{key}: {what}", []).append(
                        None if at is None else at - 3 * len(still)
                    )
    for name, each in sorted(delays.items()):
        known = [delay for delay in each if delay is not None]
        figures[f"{name}: people"] = len(each)
        figures[f"{name}: alarms"] = len(known)
        if known:
            figures[f"{name}: median delay (records)"] = float(np.median(known))
            figures[f"{name}: 90% delay (records)"] = float(np.quantile(known, 0.9))
    figures.setdefault("false alarms by errors", 0)
    figures.setdefault("false alarms by distance", 0)
    return dict(figures)


def alarms(classes: tuple[str, ...], records: list[Told], since: int = 0) -> dict[str, int]:
    """When each watch warns for the first time since a record, without knowing of the other."""
    recogniser = Recogniser(classes)
    heard = dict[str, int]()
    for k, (z, federation, chance, label) in enumerate(records):
        answer = recogniser.answer(z, federation, chance)
        for what in (recogniser.watch(answer), recogniser.learn(answer, label)):
            if what is not None and k >= since:
                heard.setdefault(what, k)
    return heard


def _verdict(before: list[Told], after: list[Told]) -> str:
    """Whether a turn matters: the federation's classifier is right in nine of ten, or it is not."""
    good = [
        np.mean([federation == label for _, federation, _, label in told]) > 0.9
        for told in (before, after)
    ]
    if good[1]:
        return "still fits"
    return "no longer fits" if good[0] else "never fitted well"


def _streams(recordings: hapt.Recordings, turn: np.ndarray) -> list[DeviceStream]:
    turned = replace(recordings, acc=recordings.acc @ turn.T, gyro=recordings.gyro @ turn.T)
    return [hapt.stream_of(turned, int(user), 0, Counter()) for user in np.unique(recordings.user)]


def _levels(stream: DeviceStream) -> DeviceStream:
    return replace(stream, y=np.array([LEVEL_OF[label] for label in stream.y.tolist()]))


if __name__ == "__main__":
    for figure, value in run().items():
        print(f"{figure:<72} {value:10.4f}")
