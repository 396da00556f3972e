"""`fsir-sim audit`: lower bounds on what a release really gives away."""

from __future__ import annotations

import argparse
import json
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fsir.contract import load_task
from fsir.privacy.claims import statement
from sim_devices.audit import subject, suite
from sim_devices.audit.bounds.check import SAMPLES
from sim_devices.audit.bounds.search import SEARCH_SAMPLES, Setting, search
from sim_devices.audit.finding import Finding
from sim_devices.audit.mechanisms import MECHANISMS
from sim_devices.audit.pairs import PAIRS, AuditError, pair
from sim_devices.audit.shipped.canary import length
from sim_devices.audit.shipped.holding import unheard
from sim_devices.commands.options import positive, whole

PAGE = {
    "description": """\
A lower bound on the true epsilon of a mechanism, against what it claims.

mechanisms: gaussian, two-stage, iid: as shipped, their law and what real agents publish; \
agent: the shipped
            program as a black box; vgm: the paper's; none, clip-from-data, ccmd, centred, \
renoised,
            unweighted: known mistakes
pairs:      A, B, C, Z, cR, ccmd, centre, worst; search (the worst neighbour of model-III data, \
or of --task and
            --data); all
Without --mechanism: everything, each with the verdict that is expected of it (docs/privacy.md).
Agents always have the system's noise and are read from their bytes. All tests together raise a \
false alarm
with a probability of at most one in a million.
""",
    "formatter_class": argparse.RawDescriptionHelpFormatter,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--mechanism", metavar="NAME", help="what to audit (default: everything)")
    parser.add_argument(
        "--pair", default="all", metavar="NAME", help="neighbouring data (default %(default)s)"
    )
    parser.add_argument("--epsilon", type=float, default=1.0, help="claimed (default %(default)s)")
    parser.add_argument("--delta", type=float, help="claimed (default: n^-1.1, as in the paper)")
    parser.add_argument(
        "--n", type=positive, default=1000, help="records of a pair (default %(default)s)"
    )
    parser.add_argument(
        "--p", type=positive, default=10, help="features of a pair (default %(default)s)"
    )
    parser.add_argument(
        "--truncate", type=float, default=3.0, metavar="R", help="(default %(default)s)"
    )
    parser.add_argument(
        "--dimension",
        type=positive,
        metavar="D",
        help="public dimension for vgm (default: the pair's own)",
    )
    parser.add_argument(
        "--task", type=Path, metavar="FILE", help="search: audit this task (TOML) ..."
    )
    parser.add_argument("--data", type=Path, metavar="FILE", help="... on these records (CSV)")
    parser.add_argument(
        "--broken",
        metavar="HOW",
        help="agent: no-noise, half-noise, reused-noise, renoised, unweighted, raw-votes or "
        "clip-first",
    )
    parser.add_argument(
        "--quick", action="store_true", help="only the shipped agent, on all its cases: seconds"
    )
    parser.add_argument(
        "--samples", type=positive, help="Monte Carlo draws (default 200000, in a search 400000)"
    )
    parser.add_argument(
        "--runs", type=positive, default=1500, help="agent: runs on each side (default %(default)s)"
    )
    parser.add_argument(
        "--seed",
        type=whole,
        help="to repeat the data and draws of an audit (default: new ones); agents have no seed",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: Namespace) -> int:
    """0, or 1 if something was not as expected. A single question has no wrong answer."""
    with unheard():
        return _answered(options)


def _answered(options: Namespace) -> int:
    delta = options.delta if options.delta is not None else options.n**-1.1
    seed = suite.new_seed() if options.seed is None else options.seed
    if options.quick:
        return _told(options, suite.quick(seed), seed)
    if options.mechanism is None and options.task is None:
        size = suite.Size(options.n, options.p, options.truncate)
        questions = suite.everything(options.epsilon, delta, size, options.runs, seed)
        return _told(options, questions, seed)
    findings = list(_findings(options, delta, seed))
    if options.json:
        tables = [finding.table() for finding in findings]
        print(json.dumps(tables[0] if len(tables) == 1 else tables))
    else:
        for finding in findings:
            print(finding.line())
    return 0


def _told(options: Namespace, questions: Iterator[suite.Expected], seed: int) -> int:
    """Many questions, each with the answer that is expected."""
    started = time.monotonic()
    tables = []
    for expected in questions:
        tables.append(expected.finding.table() | {"expected": expected.met})
        if not options.json:
            print(("" if expected.met else "UNEXPECTED: ") + expected.finding.line(), flush=True)
    wrong = sum(not table["expected"] for table in tables)
    if options.json:
        print(json.dumps(tables))
    else:
        seconds = time.monotonic() - started
        print(
            f"{len(tables)} questions, {wrong} unexpected answers, {seconds:.0f} s; "
            f"the audit's own draws have seed {seed}"
        )
    return 1 if wrong else 0


def _findings(options: Namespace, delta: float, seed: int) -> Iterator[Finding]:
    if options.task is not None:
        yield _of_task(options, seed)
        return
    if options.mechanism == "agent":
        yield _of_agent(options, delta, seed)
        return
    if options.mechanism not in MECHANISMS:
        raise AuditError(
            f"mechanism {options.mechanism!r}: choose one of {', '.join(MECHANISMS)}, agent"
        )
    for name in PAIRS if options.pair == "all" else [options.pair]:
        yield _of_pair(options, name, delta, seed)


def _of_agent(options: Namespace, delta: float, seed: int) -> Finding:
    if options.broken is not None:
        return suite.broken(options.broken, options.epsilon, delta, options.runs, seed)
    return suite.agent(options.epsilon, delta, options.runs, seed)


def _of_pair(options: Namespace, name: str, delta: float, seed: int) -> Finding:
    size = suite.Size(options.n, options.p, options.truncate)
    if name == "search":
        samples = options.samples or SEARCH_SAMPLES
        return suite.searched(options.mechanism, options.epsilon, delta, size, seed, samples)
    question = pair(name, options.n, options.p, options.truncate)
    if options.dimension is not None:
        question = replace(question, dimension=options.dimension)
    samples = options.samples or SAMPLES
    return suite.asked(options.mechanism, question, options.epsilon, delta, seed, samples)


def _of_task(options: Namespace, seed: int) -> Finding:
    task = load_task(options.task)
    if options.data is None:
        raise AuditError(
            "--task without --data: give the records (CSV) whose neighbours are searched"
        )
    records = subject.read_csv(task, options.data)
    privacy = task.privacy
    setting = Setting(
        slices=task.slicing.count,
        truncate=task.clip.truncate,
        norm=task.clip.norm,
        unit=privacy.unit_records,
    )
    law = subject.law_of_task(task, len(records.X))
    # Of the paper's mechanism, the slice means have half of the budget and the covariance the rest.
    part = 0.5 if privacy.mechanism == "vgm" else 1.0
    epsilon = part * privacy.epsilon
    delta = part * privacy.delta
    samples = options.samples or SEARCH_SAMPLES
    bound, worst = search(law, records, setting, epsilon, delta, samples, seed)
    known = statement(task)
    answer = Finding(
        mechanism=privacy.mechanism,
        pair="search",
        epsilon=epsilon,
        delta=delta,
        bound=bound,
        note=f"task {task.name}: {known.reason}",
        proven=known.proven,
    )
    if privacy.mechanism not in ("gaussian", "iid"):
        return answer
    if len(records.X) < length(task) or task.report.deadline is not None:
        note = f"{answer.note}; no agent was run: these records make no report of {length(task)}"
        return replace(answer, note=note)
    return suite.from_bytes(answer, task, records, worst, seed)
