"""What the commands do: read the options, ask the audit, print."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from fsir.contract import load_task
from fsir.privacy.claims import statement
from sim_devices.audit import subject, suite
from sim_devices.audit.attack import picture as roc_picture
from sim_devices.audit.attack import roc, targets
from sim_devices.audit.bounds.check import SAMPLES, check
from sim_devices.audit.bounds.search import SEARCH_SAMPLES, Setting, search
from sim_devices.audit.finding import Finding
from sim_devices.audit.mechanisms import MECHANISMS
from sim_devices.audit.pairs import PAIRS, AuditError, pair


def audit(options: argparse.Namespace) -> int:
    """`fsir-sim audit`: 0, or 1 if something was not as expected. A single question has no wrong
    answer."""
    delta = options.delta if options.delta is not None else options.n**-1.1
    if options.mechanism is None and options.task is None:
        return _suite(options, delta)
    findings = list(_findings(options, delta))
    if options.json:
        tables = [finding.table() for finding in findings]
        print(json.dumps(tables[0] if len(tables) == 1 else tables))
    else:
        for finding in findings:
            print(finding.line())
    return 0


def _findings(options: argparse.Namespace, delta: float) -> Iterator[Finding]:
    seed = options.seed or 0
    if options.task is not None:
        yield _of_task(options)
        return
    if options.mechanism == "agent":
        yield suite.agent(options.broken, options.epsilon, delta, options.runs, options.seed)
        return
    if options.mechanism not in MECHANISMS:
        raise AuditError(
            f"mechanism {options.mechanism!r}: choose one of {', '.join(MECHANISMS)}, agent"
        )
    for name in PAIRS if options.pair == "all" else [options.pair]:
        if name == "search":
            size = (options.n, options.p, options.truncate)
            yield suite.searched(
                options.mechanism,
                options.epsilon,
                delta,
                *size,
                seed,
                options.samples or SEARCH_SAMPLES,
            )
            continue
        question = pair(name, options.n, options.p, options.truncate)
        if options.dimension is not None:
            question = replace(question, dimension=options.dimension)
        yield check(
            options.mechanism, question, options.epsilon, delta, options.samples or SAMPLES, seed
        )


def _of_task(options: argparse.Namespace) -> Finding:
    task = load_task(options.task)
    if options.data is None:
        raise AuditError(
            "--task without --data: give the records (CSV) whose neighbours are searched"
        )
    records = subject.read_csv(task, options.data)
    privacy, unit = task.privacy, task.privacy.unit_records
    setting = Setting(task.slicing.count, task.clip.truncate, task.clip.norm, unit)
    law, claimed = subject.law_of_task(task, len(records.X)), (privacy.epsilon, privacy.delta)
    if (
        privacy.mechanism == "vgm"
    ):  # the slice means have half of the budget, the covariance the other
        claimed = (privacy.epsilon / 2.0, privacy.delta / 2.0)
    bound, _ = search(
        law, records, setting, *claimed, options.samples or SEARCH_SAMPLES, options.seed or 0
    )
    return Finding(
        privacy.mechanism, "search", *claimed, bound, f"task {task.name}: {statement(task).reason}"
    )


def _suite(options: argparse.Namespace, delta: float) -> int:
    started, wrong, tables = time.monotonic(), 0, []
    size = (options.n, options.p, options.truncate)
    for expected in suite.everything(options.epsilon, delta, *size, options.runs, options.seed):
        wrong += not expected.met
        tables.append(expected.finding.table() | {"expected": expected.met})
        if not options.json:
            print(("" if expected.met else "UNEXPECTED: ") + expected.finding.line(), flush=True)
    if options.json:
        print(json.dumps(tables))
    else:
        print(
            f"{len(tables)} questions, {wrong} unexpected answers, {time.monotonic() - started:.0f} s"
        )
    return 1 if wrong else 0


def attack(options: argparse.Namespace) -> int:
    """`fsir-sim attack`: areas and picture."""
    if options.repetitions < 1:
        raise AuditError(f"repetitions = {options.repetitions}: at least one is needed")
    panels = []
    for what in options.data or ["independent"]:
        panels.append(_panel(what, options))
        if not options.json:
            _print(panels[-1])
    picture = roc_picture.draw(panels, options.out, options.epsilon)
    if options.json:
        print(json.dumps({"picture": str(picture), "data": [_table(panel) for panel in panels]}))
    else:
        print(f"picture: {picture}")
    return 0


def _panel(what: str, options: argparse.Namespace) -> roc.Panel:
    budget = targets.Budget(options.epsilon, options.delta)
    if sys.stderr.isatty():
        print(f"{what}: {options.repetitions} repetitions ...", file=sys.stderr)
    if what == "independent":
        return targets.independent(budget, options.repetitions, options.seed)
    if what.endswith(".csv"):
        return targets.body_fat(Path(what), budget, options.repetitions, options.seed)
    return targets.har(Path(what), budget, options.repetitions, options.seed)


def _print(panel: roc.Panel) -> None:
    most = roc.limit_area(panel.mu)
    print(
        f"{panel.title} ({panel.note}); proven: no attack on the agent reaches more than {most:.3f} on average"
    )
    for attack in panel.attacks:
        print(f"  AUC {attack.mean:.3f} +- {attack.half_width:.3f}  {attack.name}")


def _table(panel: roc.Panel) -> dict[str, Any]:
    attacks = {
        attack.name: {
            "auc": attack.mean,
            "half_width_95": attack.half_width,
            "repetitions": len(attack.areas),
        }
        for attack in panel.attacks
    }
    return {
        "name": panel.title,
        "note": panel.note,
        "limit": roc.limit_area(panel.mu),
        "attacks": attacks,
    }
