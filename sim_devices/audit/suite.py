"""Everything that the audit has, each question with the verdict that is expected of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fsir.task.task import Task
from sim_devices.audit.bounds.check import check
from sim_devices.audit.bounds.search import SEARCH_SAMPLES, search
from sim_devices.audit.finding import Finding
from sim_devices.audit.mechanisms import Claim
from sim_devices.audit.pairs import PAIRS, AuditError, pair
from sim_devices.audit.shipped import blackbox
from sim_devices.audit.shipped.agent import BROKEN, source_of, through_agent
from sim_devices.audit.subject import law_of_claim, ordinary

PRIVATE = ("gaussian", "two-stage", "iid")
MUST_FAIL = {
    "vgm": ("A", "B", "C", "Z"),
    "none": ("Z",),
    "clip-from-data": ("cR",),
    "ccmd": ("ccmd",),
    "centred": ("centre",),
    "renoised": ("worst",),
    "unweighted": ("worst",),
}
# A claim (epsilon, delta) at which a black box sees a fault of a factor of sqrt(2) in a few hundred
# runs.
LOOSE = (4.0, 0.05)
_TWO_STAGES = {"final_norm": 1.5, "limit": 4, "keep": 1, "share": 0.4}


@dataclass(frozen=True)
class Size:
    """How large the data of a question are."""

    n: int
    p: int
    truncate: float


@dataclass(frozen=True)
class Expected:
    """A finding and whether it is the one that was expected."""

    finding: Finding
    violated: bool

    @property
    def met(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.finding.violated == self.violated


def everything(
    epsilon: float, delta: float, size: Size, runs: int, seed: int | None
) -> Iterator[Expected]:
    """All pairs, searches and black boxes."""
    first = seed or 0
    pairs = {name: pair(name, size.n, size.p, size.truncate) for name in PAIRS}
    for mechanism in PRIVATE:
        for question in pairs.values():
            yield Expected(check(mechanism, question, epsilon, delta), False)
        yield Expected(searched(mechanism, epsilon, delta, size, first), False)
    for mechanism, names in MUST_FAIL.items():
        for name in names:
            yield Expected(check(mechanism, pairs[name], epsilon, delta, seed=first), True)
    yield Expected(searched("vgm", epsilon, delta, size, first), True)
    yield Expected(agent(None, *LOOSE, runs, seed), False)
    for broken in BROKEN:
        yield Expected(agent(broken, *LOOSE, runs, seed), True)


def searched(
    mechanism: str,
    epsilon: float,
    delta: float,
    size: Size,
    seed: int,
    samples: int = SEARCH_SAMPLES,
) -> Finding:
    """The worst neighbour of ordinary data."""
    records, setting = ordinary(size.n, size.p, seed, size.truncate)
    law = law_of_claim(mechanism, records, setting, epsilon, delta)
    bound, _ = search(law, records, setting, epsilon, delta, samples, seed)
    return Finding(
        mechanism=mechanism,
        pair="search",
        epsilon=epsilon,
        delta=delta,
        bound=bound,
        note=f"model III, seed {seed}",
    )


def agent(broken: str | None, epsilon: float, delta: float, runs: int, seed: int | None) -> Finding:
    """The shipped program as a black box, whole or with one thing broken."""
    if broken is not None and broken not in BROKEN:
        raise AuditError(f"broken {broken!r}: choose one of {', '.join(BROKEN)}")
    if runs < 100:
        raise AuditError(f"runs = {runs}: fewer than 100 on each side tell nothing")
    task = agent_task(broken, epsilon, delta)
    source = source_of(seed)
    path = through_agent(task, source) if broken is None else BROKEN[broken](task, source)
    return Finding(
        mechanism="agent" if broken is None else f"agent ({broken})",
        pair="canary",
        epsilon=epsilon,
        delta=delta,
        bound=blackbox.audit(path, task, runs),
    )


def agent_task(broken: str | None, epsilon: float, delta: float) -> Task:
    """A small task, so that an agent runs in milliseconds;
    with two stages where the fault needs them."""
    claim = Claim(epsilon=epsilon, delta=delta, n=8, p=4, slices=2, truncate=1.0, norm=2.0)
    if broken == "reused-noise":
        return claim.task("gaussian", records="same", **_TWO_STAGES)
    if broken == "unweighted":
        return claim.task("gaussian", records="fresh", **{**_TWO_STAGES, "final_norm": 2.0})
    return claim.task("gaussian")
