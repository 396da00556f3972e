"""What the tracing attack is tried on:
body fat as in the paper's introduction, HAR devices, independent features."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fsir.arrays import Flags, Matrix
from fsir.contract import task_from_table
from fsir.privacy.budget import total_mu
from fsir.task.task import Task
from sim_devices.audit.attack import tracing
from sim_devices.audit.attack.roc import Panel, Traced
from sim_devices.audit.pairs import AuditError
from sim_devices.audit.shipped.agent import source_of, through_agent

Scores = dict[str, Matrix]
Repetition = Callable[[np.random.Generator, int], tuple[Scores, Flags]]
RAW = "raw slice means"
DIRECTION = "private direction"
SENT = "all that the agent sends"
RAW_DIRECTION = "raw direction"


@dataclass(frozen=True)
class Budget:
    """The budget of a device in the attack."""

    epsilon: float = 1.0
    delta: float = 1e-6


def trace(
    title: str, repetition: Repetition, task: Task, repetitions: int, seed: int, note: str = ""
) -> Panel:
    """Repeat an attack on fresh splits with fresh noise."""
    traced: dict[str, Traced] = {}
    for k in range(repetitions):
        scores, members = repetition(np.random.default_rng((seed, k)), seed * 1_000_003 + k)
        for name, values in scores.items():
            traced.setdefault(name, Traced(name)).add(values, members)
    return Panel(title, list(traced.values()), total_mu(task), note)


def _split(count: int, rng: np.random.Generator) -> Flags:
    """A random half: the members."""
    members = np.zeros(count, np.bool_)
    members[rng.permutation(count)[: count // 2]] = True
    return members


def _task(names: list[str], n: int, R: float, C: float, budget: Budget, keep: int = 0) -> Task:
    table = {
        "name": "trace",
        "features": {"names": names},
        "response": {"classes": ["0", "1"]},
        "clip": {"truncate": R, "norm": C},
        "privacy": {"epsilon": budget.epsilon, "delta": budget.delta},
        "report": {"records": n},
    }
    if keep:
        table["screening"] = {
            "keep": keep,
            "limit": 2 * keep,
            "final_norm_factor": C / math.sqrt(len(names)),
        }
    return task_from_table(table)


# --- Body fat: 252 men, 13 measurements, above 18 percent or not. ---------------------------------


def body_fat(path: Path, budget: Budget, repetitions: int, seed: int) -> Panel:
    """The paper's example. Records are whitened with the whole sample,
    as the paper assumes X ~ N(0, I)."""
    X, over = read_body_fat(path)
    X = X - X.mean(axis=0)
    X = X @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T))).T
    n = (len(X) - 1) // 2
    task = _task([f"x{j}" for j in range(X.shape[1])], n, 4.0, 1.1 * math.sqrt(X.shape[1]), budget)
    signs = np.where(over, 1.0, -1.0)

    def repetition(rng: np.random.Generator, noise_seed: int) -> tuple[Scores, Flags]:
        order = rng.permutation(len(X))
        other = order[0]  # one record stands for the unknown direction
        rest = order[1 : 2 * n + 1]
        guess = X[other] * signs[other]
        members = np.arange(len(rest)) < n
        Z = X[rest]
        s = signs[rest]
        y = over[rest].astype(np.int64)
        sent = through_agent(task, source_of(noise_seed))(Z[members], [str(h) for h in y[members]])
        scores = {
            RAW: tracing.against_means(Z, y, members, 2),
            RAW_DIRECTION: tracing.along_direction(
                Z, s, tracing.direction(Z[members], s[members]), guess
            ),
            DIRECTION: tracing.along_direction(Z, s, tracing.sent_direction(task, sent), guess),
            SENT: tracing.against_reports(task, sent, Z, y),
        }
        return scores, members

    note = f"n = {n}, p = {X.shape[1]}: few features make a weak target"
    return trace("body fat", repetition, task, repetitions, seed, note)


def read_body_fat(path: Path) -> tuple[Matrix, Flags]:
    """Thirteen covariates, and whether body fat is above 18 percent."""
    try:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        raise AuditError(
            f"data file {str(path)!r}: does not exist; give the path of bodyfat.csv"
        ) from None
    if not rows or "BodyFat" not in rows[0]:
        raise AuditError(
            f"data file {str(path)!r}: has no column 'BodyFat'; is it Penrose's body fat data?"
        )
    names = [name for name in rows[0] if name not in ("BodyFat", "Density")]
    X = np.array([[float(row[name]) for name in names] for row in rows])
    return X, np.array([float(row["BodyFat"]) for row in rows]) > 18.0


# --- HAR: was this window among the device's? -----------------------------------------------------


def har(path: Path, budget: Budget, repetitions: int, seed: int) -> Panel:
    """One person's windows, half of them the device's data;
    the attacker knows all candidates, not which half."""
    from sim_devices.scenarios import scenarios, tasks

    scenario = scenarios.har(path, levels=True, volunteer="subject-01")
    devices = scenario.population.devices
    n = min(len(stream) for stream in devices) // 2
    setting = tasks.Setting(epsilon=budget.epsilon, delta=budget.delta, records=n)
    task = tasks.build(scenario.population, scenario.geometry, setting)

    def repetition(rng: np.random.Generator, noise_seed: int) -> tuple[Scores, Flags]:
        stream = devices[int(rng.integers(len(devices)))]
        chosen = rng.permutation(len(stream))[: 2 * n]
        X = stream.X[chosen]
        y = stream.y[chosen]
        members = _split(2 * n, rng)
        slices = task.slicing.slices_of(y)
        sent = through_agent(task, source_of(noise_seed))(X[members], y[members].tolist())
        scores = {
            RAW: tracing.against_means(X, slices, members, task.slicing.count),
            SENT: tracing.against_reports(task, sent, X, slices),
        }
        return scores, members

    return trace(
        "HAR, one window", repetition, task, repetitions, seed, f"n = {n}, p = {task.p}, 20 devices"
    )


# --- Independent features: what a tracing attack likes best. --------------------------------------


def independent(budget: Budget, repetitions: int, seed: int, n: int = 300, p: int = 561) -> Panel:
    """Independent N(0, 1) features, the response a coin:
    every feature is one more witness against a member."""
    task = _task([f"x{j}" for j in range(p)], n, 4.0, math.sqrt(p), budget, keep=5)

    def repetition(rng: np.random.Generator, noise_seed: int) -> tuple[Scores, Flags]:
        X = rng.standard_normal((2 * n, p))
        y = rng.integers(0, 2, 2 * n)
        members = _split(2 * n, rng)
        sent = through_agent(task, source_of(noise_seed))(X[members], [str(h) for h in y[members]])
        scores = {
            RAW: tracing.against_means(X, y, members, 2),
            SENT: tracing.against_reports(task, sent, X, y),
        }
        return scores, members

    return trace("independent features", repetition, task, repetitions, seed, f"n = {n}, p = {p}")
