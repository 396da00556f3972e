"""Everything that the audit has, each question with the verdict that is expected of it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fsir.task.task import Task
from sim_devices.audit.bounds.check import SAMPLES, check
from sim_devices.audit.bounds.search import SEARCH_SAMPLES, search
from sim_devices.audit.claim import Claim
from sim_devices.audit.finding import Finding, best
from sim_devices.audit.mechanisms import PROVEN
from sim_devices.audit.opened import rounds as opened_rounds
from sim_devices.audit.opened import views
from sim_devices.audit.opened.shipped import of_opening
from sim_devices.audit.pairs import PAIRS, AuditError, Pair, Records, pair
from sim_devices.audit.rounds.agent import by_agent, of_books
from sim_devices.audit.rounds.mistakes import mistakes
from sim_devices.audit.rounds.questions import ask, questions
from sim_devices.audit.rounds.reports import by_other_keys, by_release, of_reports
from sim_devices.audit.shipped import cases
from sim_devices.audit.shipped.agent import through_agent
from sim_devices.audit.shipped.broken import BROKEN
from sim_devices.audit.shipped.canary import mapped, orthogonal
from sim_devices.audit.shipped.cases import LOOSE, Case, all_cases, small_task
from sim_devices.audit.shipped.holding import of_hold
from sim_devices.audit.shipped.judge import finding, judge, of_case, of_processes
from sim_devices.audit.subject import law_of_claim, ordinary, streams_of

PRIVATE = tuple(PROVEN)
MUST_FAIL = {
    "vgm": ("A", "B", "C", "Z"),
    "none": ("Z",),
    "clip-from-data": ("cR",),
    "ccmd": ("ccmd",),
    "centred": ("centre",),
    "renoised": ("worst",),
    "unweighted": ("worst",),
}
PAIR_RUNS = 60  # of the agent on each side of a pair: they look at the noise, not at the canary
CASE_RUNS = 400
QUICK_RUNS = 100
ROUND_RUNS = 100
RESTARTED_RUNS = 40  # agents that are started before each round


@dataclass(frozen=True)
class Size:
    """How large the data of a question are."""

    n: int
    p: int
    truncate: float


@dataclass(frozen=True)
class Expected:
    """A finding, and whether the claim had to be refuted."""

    finding: Finding
    violated: bool

    @property
    def met(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.finding.violated == self.violated


def new_seed() -> int:
    """For data and draws of the audit itself; the noise of an agent never has a seed."""
    return secrets.randbelow(2**32)


def everything(
    epsilon: float, delta: float, size: Size, runs: int, seed: int
) -> Iterator[Expected]:
    """All pairs, searches and black boxes."""
    pairs = {name: pair(name, size.n, size.p, size.truncate) for name in PAIRS}
    for mechanism in PRIVATE:
        for question in pairs.values():
            yield Expected(asked(mechanism, question, epsilon, delta, seed), False)
        yield Expected(searched(mechanism, epsilon, delta, size, seed), False)
    for mechanism, names in MUST_FAIL.items():
        for name in names:
            yield Expected(check(mechanism, pairs[name], epsilon, delta, seed=seed), True)
    yield Expected(searched("vgm", epsilon, delta, size, seed), True)
    for name in (*views.SHIPPED, *views.MUST_FAIL):
        yield Expected(views.asked(name, epsilon, delta), name in views.MUST_FAIL)
    for name in (*opened_rounds.SHIPPED, *opened_rounds.MUST_FAIL):
        found = opened_rounds.asked(name, epsilon, delta)
        yield Expected(found, name in opened_rounds.MUST_FAIL)
    yield from shipped(min(runs, CASE_RUNS), seed)
    yield from rounds(ROUND_RUNS)
    for name in BROKEN:
        yield Expected(broken(name, *LOOSE, runs, seed), True)


def quick(seed: int) -> Iterator[Expected]:
    """The shipped agent on every case, rounds, and one without noise to show what is found."""
    yield from shipped(QUICK_RUNS, seed)
    yield from rounds(ROUND_RUNS)
    yield Expected(broken("no-noise", *LOOSE, QUICK_RUNS, seed), True)


def shipped(runs: int, seed: int) -> Iterator[Expected]:
    """The shipped agent on every case, from bytes alone, and what two aggregators open."""
    rng = np.random.default_rng(seed)
    for case in all_cases():
        yield Expected(of_case(case, runs, rng), False)
    yield Expected(of_hold(runs), False)
    yield Expected(of_opening(runs, rng), False)
    yield Expected(of_processes(cases.two_stages(one_by_one=False)), False)


def rounds(runs: int) -> Iterator[Expected]:
    """Rounds whose noise hangs together: exact costs, mistakes, and the fit of so many devices."""
    for question in (*questions(), *mistakes()):
        yield Expected(ask(question), question.violated)
    yield Expected(of_reports(by_release, runs, "reports of rounds"), False)
    yield Expected(of_reports(by_other_keys, runs, "past normals drawn anew"), True)
    yield Expected(of_reports(by_agent, RESTARTED_RUNS, "agents started anew", rounds=3), False)
    yield Expected(of_books(), False)


def asked(
    mechanism: str,
    question: Pair,
    epsilon: float,
    delta: float,
    seed: int,
    samples: int = SAMPLES,
) -> Finding:
    """The law of a mechanism on a pair; and if agents run it, whether they publish this law."""
    answer = check(mechanism, question, epsilon, delta, samples, seed)
    if mechanism not in PROVEN:
        return answer
    task = PROVEN[mechanism](Claim.about(question, epsilon, delta))
    return from_bytes(answer, task, question.first, question.second, seed)


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
    bound, worst = search(law, records, setting, epsilon, delta, samples, seed)
    answer = Finding(
        mechanism=mechanism,
        pair="search",
        epsilon=epsilon,
        delta=delta,
        bound=bound,
        note=f"model III, seed {seed}",
        proven=mechanism in PROVEN,
    )
    if mechanism not in PROVEN:
        return answer
    claim = Claim(
        epsilon=epsilon,
        delta=delta,
        n=size.n,
        p=size.p,
        slices=setting.slices,
        truncate=setting.truncate,
        norm=setting.norm,
    )
    return from_bytes(answer, PROVEN[mechanism](claim), records, worst, seed)


def from_bytes(answer: Finding, task: Task, first: Records, second: Records, seed: int) -> Finding:
    """The answer about a law, with what real agents publish about the same data."""
    streams = streams_of(task, first, second)
    rng = np.random.default_rng(seed)
    bound, faults = judge(through_agent(task), task, streams, PAIR_RUNS, rng)
    sharper = best(answer.bound, bound)
    note = f"{answer.note}; {2 * PAIR_RUNS} agents publish this law"
    if faults:
        note = f"{answer.note}; agents publish another law"
    return replace(answer, bound=sharper, faults=tuple(faults), note=note)


def agent(epsilon: float, delta: float, runs: int, seed: int) -> Finding:
    """The shipped program on the canary of theorem 1, at any budget."""
    task = small_task(budget=(epsilon, delta))
    case = Case(name="canary", task=task, streams=orthogonal(task))
    return of_case(case, runs, np.random.default_rng(seed))


def broken(name: str, epsilon: float, delta: float, runs: int, seed: int) -> Finding:
    """The shipped program as a black box, with one thing broken."""
    if name not in BROKEN:
        raise AuditError(f"broken {name!r}: choose one of {', '.join(BROKEN)}")
    task = broken_task(name, epsilon, delta)
    rng = np.random.default_rng(seed)
    streams = orthogonal(task) if task.public is None else mapped(task)
    bound, faults = judge(BROKEN[name](task), task, streams, runs, rng)
    return finding(f"agent ({name})", "canary", task, bound, faults)


def broken_task(name: str, epsilon: float, delta: float) -> Task:
    """With two stages, or a public map, where the fault needs them."""
    if name == "clip-first":
        return cases.mapped_task((epsilon, delta))
    two = {"final_norm": 1.5, "limit": 4, "keep": 1, "share": 0.4}
    screening = {
        "reused-noise": two,
        "unweighted": {**two, "final_norm": 2.0, "records": "fresh"},
        "raw-votes": cases.VOTES,
    }.get(name)
    budget = (epsilon, delta)
    return (
        small_task(budget=budget)
        if screening is None
        else small_task(budget=budget, screening=screening)
    )
