"""One question to the shipped agent: does it publish what the proof is about, and book it?

The agent has its own noise, the system's, always: a seed could hide a fault of the generator.
"""

from __future__ import annotations

import numpy as np

from fsir.privacy import plan
from fsir.task.task import Task
from sim_devices.audit.finding import Bound, Finding
from sim_devices.audit.pairs import AuditError
from sim_devices.audit.shipped import blackbox
from sim_devices.audit.shipped.agent import NoPartError, Path, through_agent
from sim_devices.audit.shipped.books import wrong_books
from sim_devices.audit.shipped.canary import Streams
from sim_devices.audit.shipped.cases import Case
from sim_devices.audit.shipped.fit import misfits
from sim_devices.audit.shipped.processes import repeated_noise
from sim_devices.audit.shipped.reference import stage_names
from sim_devices.audit.shipped.scores import Side
from sim_devices.audit.shipped.votes import odd_votes

FEWEST_RUNS = 40


def judge(
    path: Path, task: Task, streams: Streams, runs: int, rng: np.random.Generator
) -> tuple[Bound, list[str]]:
    """What the bytes of `runs` runs on each stream tell: a bound on epsilon, and faults."""
    if runs < FEWEST_RUNS:
        raise AuditError(f"runs = {runs}: fewer than {FEWEST_RUNS} on each side tell nothing")
    try:
        first, second = (
            Side.of(task, stream, [path(*stream) for _ in range(runs)])
            for stream in (streams.first, streams.second)
        )
    except NoPartError as error:
        return Bound(0.0, 0.0, 1.0, "nothing was published"), [str(error)]
    bound = Bound(0.0, 0.0, 1.0, "not looked at: the traffic tells the streams apart")
    faults = _traffic(task, first, second)
    if not faults:
        bound = blackbox.bound(task, first, second)
        stages = [report.stage for report in first.runs[0]]
        if stages != stage_names(task):
            return bound, [f"reports {', '.join(stages)} instead of {', '.join(stage_names(task))}"]
        faults = misfits(first, second, rng) + odd_votes(task, first, second, rng)
    return bound, faults


def _traffic(task: Task, first: Side, second: Side) -> list[str]:
    """Everything but the noisy values must be the same in all runs on both streams."""
    seen = {
        tuple(
            (
                report.task,
                report.device,
                report.stage,
                report.n,
                tuple(len(block) for block in report.blocks),
                None if report.votes is None else report.votes.shape,
            )
            for report in run
        )
        for side in (first, second)
        for run in side.runs
    }
    if len(seen) > 1:
        return [f"{len(seen)} kinds of messages: they differ in more than noise"]
    counts = {report.n for report in first.runs[0]}
    if counts != {plan.report_size(task)}:
        return [f"reports about {sorted(counts)} records instead of {plan.report_size(task)}"]
    return []


def of_case(case: Case, runs: int, rng: np.random.Generator) -> Finding:
    """The shipped agent on one case: its bytes and its books."""
    path = through_agent(case.task, one_by_one=case.one_by_one)
    bound, faults = judge(
        path, case.task, case.streams, max(FEWEST_RUNS, int(runs * case.effort)), rng
    )
    faults += wrong_books(case.task, case.streams.first)
    return finding("agent", case.name, case.task, bound, faults)


def of_processes(case: Case) -> Finding:
    """The shipped agent in two processes."""
    faults = repeated_noise(case.task, case.streams.first)
    method = "two processes are compared, and nothing else"
    bound = Bound(np.inf if faults else 0.0, 1.0 if faults else 0.0, 1.0, method)
    return finding("agent", "two processes", case.task, bound, faults)


def finding(mechanism: str, pair: str, task: Task, bound: Bound, faults: list[str]) -> Finding:
    """What was found about a task."""
    return Finding(
        mechanism=mechanism,
        pair=pair,
        epsilon=task.privacy.epsilon,
        delta=task.privacy.delta,
        bound=bound,
        faults=tuple(faults),
    )
