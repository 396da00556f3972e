"""People who took no part, under a subspace that others learned: for `benchmarks.recognition`."""

from __future__ import annotations

from collections.abc import Iterator

from fsir.estimate.projection import Projector
from fsir.task.task import Task
from fsir.wire.messages import Subspace
from sim_devices.datasets.population import DeviceStream
from sim_devices.scenarios.evaluation import columns
from sim_devices.scenarios.tasks import Setting

SEEDS = range(5)
# z, the federation's class and its confidence, label.
Told = tuple[tuple[float, ...], str, float, str]


def setting(levels: bool) -> Setting:
    """As `fsir-sim hapt`."""
    return Setting(epsilon=1.0, delta=1e-6, unit_records=2, dimension=2 if levels else None)


class Person:
    """One person's records under a subspace."""

    def __init__(
        self, task: Task, subspace: Subspace, stream: DeviceStream, split: int = 0
    ) -> None:
        rows = stream.X[:, columns(task, subspace)]
        projector = Projector(task, subspace)
        self.z: list[tuple[float, ...]] = [tuple(row) for row in projector.project(rows).tolist()]
        self.federation, confidences = projector.classify(rows)
        self.confidences = confidences.tolist()
        self.labels = stream.y.tolist()
        self.split = split

    def records(self) -> Iterator[Told]:
        """All records in their order."""
        return zip(self.z, self.federation, self.confidences, self.labels, strict=True)
