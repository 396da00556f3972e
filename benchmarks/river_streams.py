"""What FSIR is worth in a River pipeline: streams that come with River or are generated.

Each record is predicted, then learned. Three pipelines: scaled features, FSIR in their place, and
both side by side. `python -m benchmarks.river_streams` prints the table of docs/river.md.
"""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from river import datasets, linear_model, metrics, naive_bayes, neighbors, preprocessing
from river.datasets import synth

from edge_agent.river import FSIR

GENERATED = 5000  # records of a stream that has no end
BARS = {
    "ImageSegments, naive Bayes: FSIR - scaled": ">= 0.08",
    "ImageSegments, naive Bayes: FSIR": ">= 0.88",
    "Phishing, linear: both - scaled": ">= -0.005",
    "smallest of all: both - scaled": ">= -0.03",
}
Records = list[tuple[dict[Any, Any], Any]]


def sensors(n: int, seed: int = 1) -> Iterator[tuple[dict[str, float], bool]]:
    """Forty sensors, one hidden factor that drives them all; two of them differ by the target."""
    rng = random.Random(seed)
    for _ in range(n):
        common = rng.gauss(0, 5)
        x = {f"s{j}": common + rng.gauss(0, 1) for j in range(40)}
        yield x, x["s0"] - x["s1"] + rng.gauss(0, 0.5) > 0


def _generated(stream: Any) -> Records:
    return list(itertools.islice(stream, GENERATED))


STREAMS: dict[str, Callable[[], Records]] = {
    "Phishing": lambda: list(datasets.Phishing()),
    "Bananas": lambda: list(datasets.Bananas()),
    "ImageSegments": lambda: list(datasets.ImageSegments()),
    "40 sensors": lambda: list(sensors(GENERATED)),
    "Waveform": lambda: _generated(synth.Waveform(seed=1, has_noise=True)),
    "LED": lambda: _generated(synth.LED(seed=1, noise_percentage=0.1, irrelevant_features=True)),
    "Hyperplane": lambda: _generated(synth.Hyperplane(seed=1, n_features=10)),
    "SEA": lambda: _generated(synth.SEA(seed=1)),
    "RandomRBF": lambda: _generated(
        synth.RandomRBF(seed_model=1, seed_sample=1, n_classes=3, n_features=20)
    ),
}
LEARNERS: dict[str, Callable[[int], Any]] = {
    "linear": lambda classes: (
        linear_model.LogisticRegression() if classes == 2 else linear_model.SoftmaxRegression()
    ),
    "naive Bayes": lambda _: naive_bayes.GaussianNB(),
    "neighbours": lambda _: neighbors.KNNClassifier(),
}
FRONTS: dict[str, Callable[[int], Any]] = {
    "scaled": lambda _: preprocessing.StandardScaler(),
    "FSIR": lambda k: FSIR(n_components=k),
    "both": lambda k: FSIR(n_components=k) + preprocessing.StandardScaler(),
}


def accuracy(model: Any, records: Records) -> float:
    """The share of records that are named rightly before they are learned."""
    metric = metrics.Accuracy()
    for x, y in records:
        metric.update(y, model.predict_one(x))
        model.learn_one(x, y)
    return float(metric.get())


def measured() -> Iterator[tuple[str, str, dict[str, float]]]:
    """Stream, learner, and the accuracy of each front."""
    for stream, records in ((name, made()) for name, made in STREAMS.items()):
        classes = len({y for _, y in records})
        for learner, make in LEARNERS.items():
            fronts = {
                name: accuracy(front(classes - 1) | make(classes), records)
                for name, front in FRONTS.items()
            }
            yield stream, learner, fronts


def run() -> dict[str, float]:
    """Every accuracy, and by how much FSIR changes it."""
    figures: dict[str, float] = {}
    gains = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of River's own data sets
        for stream, learner, fronts in measured():
            name = f"{stream}, {learner}"
            figures |= {f"{name}: {front}": value for front, value in fronts.items()}
            for front in ("FSIR", "both"):
                figures[f"{name}: {front} - scaled"] = fronts[front] - fronts["scaled"]
            gains.append(fronts["both"] - fronts["scaled"])
    figures["smallest of all: both - scaled"] = min(gains)
    return figures


def main() -> None:
    """The table, as Markdown."""
    print("| stream | learner | scaled | FSIR | both |\n|---|---|---|---|---|")
    for stream, learner, fronts in measured():
        best = max(fronts.values())
        cells = [
            f"**{100 * value:.1f}**" if value == best else f"{100 * value:.1f}"
            for value in fronts.values()
        ]
        print("|", " | ".join([stream, learner, *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
