"""When the agent's watches warn, and when they should not: part of the benchmark `recognition`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from benchmarks._people import SEEDS, Person, Told, setting
from edge_agent.recognition.recogniser import Recogniser
from edge_agent.signal.features import FEATURE_NAMES
from fsir.arrays import Matrix
from sim_devices.datasets import hapt
from sim_devices.datasets.population import LEVEL_OF, DeviceStream
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import without_network
from sim_devices.scenarios.tasks import build

WATCHED = SEEDS[2:]  # the others were used to choose the settings of the watches
REPEATS = 10  # of a person's stream, to look for false alarms
STILL = "as it was"
TURNS: dict[str, Matrix] = {
    STILL: np.eye(3),
    "turned by 90 degrees": np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    "turned by 180 degrees": np.diag([-1.0, -1.0, 1.0]),
}


def watches() -> dict[str, float]:
    """False alarms on streams that do not change,
    and the delay after a turn of the phone, per watch."""
    folder = scenarios.data_directory() / "hapt"
    scenario = scenarios.hapt(folder, True, "subject-01", scenarios.CHOSEN)
    recordings = hapt.read_recordings(folder)
    chosen = [FEATURE_NAMES.index(name) for name in scenario.population.features]
    turned = {
        name: [_levels(stream).with_columns(chosen) for stream in _streams(recordings, turn)]
        for name, turn in TURNS.items()
    }
    figures: Counter[str] = Counter()
    delays: dict[str, list[int | None]] = {}
    for seed in WATCHED:
        task = build(scenario.population, scenario.geometry, setting(True))
        subspace = without_network(task, scenario.population.devices, seed)
        people = {
            name: [Person(task, subspace, stream) for stream in streams]
            for name, streams in turned.items()
        }
        for k, person in enumerate(people[STILL]):
            still = list(person.records())
            figures["records without a change"] += REPEATS * len(still)
            for what in alarms(task.response.classes, still * REPEATS):
                figures[f"false alarms by {what}"] += 1
            for name in list(turned)[1:]:
                changed = list(people[name][k].records())
                key = f"{name}, {_verdict(still, changed)}"
                for what, delay in _delays(task.response.classes, still, changed).items():
                    delays.setdefault(f"{key}: {what}", []).append(delay)
    for name, each in sorted(delays.items()):
        figures.update(_summary(name, each))
    figures.setdefault("false alarms by errors", 0)
    figures.setdefault("false alarms by distance", 0)
    return dict(figures)


def _delays(
    classes: tuple[str, ...], still: list[Told], changed: list[Told]
) -> dict[str, int | None]:
    """After how many records each watch hears of the change, if it does."""
    since = 3 * len(still)
    heard = alarms(classes, still * 3 + changed * 3, since)
    return {what: heard[what] - since if what in heard else None for what in ("errors", "distance")}


def _summary(name: str, delays: list[int | None]) -> dict[str, float]:
    known = [delay for delay in delays if delay is not None]
    figures: dict[str, float] = {f"{name}: people": len(delays), f"{name}: alarms": len(known)}
    if known:
        figures[f"{name}: median delay (records)"] = float(np.median(known))
        figures[f"{name}: 90% delay (records)"] = float(np.quantile(known, 0.9))
    return figures


def alarms(classes: tuple[str, ...], records: list[Told], since: int = 0) -> dict[str, int]:
    """When each watch warns for the first time since a record, without knowing of the other."""
    recogniser = Recogniser(classes)
    heard = dict[str, int]()
    for k, (z, federation, confidence, label) in enumerate(records):
        answer = recogniser.answer(z, federation, confidence)
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


def _streams(recordings: hapt.Recordings, turn: Matrix) -> list[DeviceStream]:
    turned = replace(recordings, acc=recordings.acc @ turn.T, gyro=recordings.gyro @ turn.T)
    return [hapt.stream_of(turned, int(user), 0, Counter()) for user in np.unique(recordings.user)]


def _levels(stream: DeviceStream) -> DeviceStream:
    return replace(stream, y=np.array([LEVEL_OF[label] for label in stream.y.tolist()]))
