"""What is claimed about a mechanism, and the task that makes the claim."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fsir.contract import task_from_table
from fsir.task.task import Task
from sim_devices.audit.pairs import Pair


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is claimed, and the public numbers that everything is derived from."""

    epsilon: float
    delta: float
    n: int
    p: int
    slices: int
    truncate: float
    norm: float
    dimension: int | None = None
    threshold: float = 0.0

    @classmethod
    def about(cls, pair: Pair, epsilon: float, delta: float) -> Claim:
        """The claim (epsilon, delta) for a mechanism that works
        with the public numbers of this pair."""
        return cls(
            epsilon=epsilon,
            delta=delta,
            n=pair.n,
            p=pair.p,
            slices=pair.slices,
            truncate=pair.truncate,
            norm=pair.norm,
            dimension=pair.dimension,
            threshold=pair.threshold,
        )

    def task(self, mechanism: str, **screening: Any) -> Task:
        """The task that makes this claim."""
        return _task(self, mechanism, tuple(sorted(screening.items())))


@lru_cache(maxsize=64)
def _task(claim: Claim, mechanism: str, screening: tuple[tuple[str, Any], ...]) -> Task:
    """Built once: a search asks for the same task thousands of times."""
    table: dict[str, Any] = {
        "name": "audit",
        "features": {"names": [f"x{j}" for j in range(claim.p)]},
        "response": {"classes": [str(h) for h in range(claim.slices)]},
        "clip": {"truncate": claim.truncate, "norm": claim.norm},
        "privacy": {"epsilon": claim.epsilon, "delta": claim.delta, "mechanism": mechanism},
        "report": {"records": claim.n},
    }
    if screening:
        table["screening"] = dict(screening)
    return task_from_table(table)
