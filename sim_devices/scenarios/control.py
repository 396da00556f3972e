"""One way to do without the federation, and all of them beside a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fsir.arrays import Matrix
from fsir.task.task import Task
from fsir.wire.messages import Subspace
from sim_devices.datasets.population import DeviceStream
from sim_devices.scenarios.evaluation import Judged, judged, projected

Measure = Callable[[Sequence[DeviceStream]], float]  # the score on some of the unseen people


@dataclass(frozen=True, kw_only=True)
class Control:
    """One way to do without the federation."""

    name: str
    score: float  # share of unseen records named rightly; for numbers R^2
    loss: float | None = None  # distance from the true subspace, where that is known
    public: bool = False  # needs nothing but what is public
    private: bool = True  # false: somebody would have to hand over records
    measure: Measure | None = field(default=None, compare=False, repr=False)

    @property
    def kind(self) -> str:
        """Public, private or open: who could have it."""
        return "public" if self.public else "private" if self.private else "open"


def measured(
    name: str,
    measure: Measure,
    unseen: Sequence[DeviceStream],
    *,
    public: bool = False,
    private: bool = True,
) -> Control:
    """A control by its score on these people."""
    score = measure(unseen)
    return Control(name=name, score=score, public=public, private=private, measure=measure)


@dataclass(frozen=True, eq=False)
class Variant:
    """The same task, learned from other records or without noise."""

    name: str
    task: Task
    subspace: Subspace
    Z: Matrix  # unseen people on its directions
    judged: Judged | None  # its classifier on them, where the response is a class

    @classmethod
    def of(
        cls, name: str, task: Task, subspace: Subspace, unseen: Sequence[DeviceStream]
    ) -> Variant:
        """With what these people make of it."""
        found = judged(task, subspace, unseen) if task.response.classes else None
        return cls(name, task, subspace, projected(task, subspace, unseen), found)


@dataclass(frozen=True, kw_only=True)
class Beside:
    """All controls of a result, and those that can be drawn beside it."""

    controls: tuple[Control, ...] = ()
    alone: Variant | None = None  # the public sample
    quiet: Variant | None = None  # the same devices without noise

    @property
    def best_public(self) -> Control | None:
        """The best that can be had from what is public: no control is left out."""
        return _best([control for control in self.controls if control.public])

    @property
    def best_without(self) -> Control | None:
        """What to hold a result against: the best that is public; without a public sample, the
        best that anybody can have without handing over records."""
        if self.alone is not None:
            return self.best_public
        return _best([control for control in self.controls if control.private])


def _best(controls: list[Control]) -> Control | None:
    return max(controls, key=lambda control: control.score, default=None)
