"""Runs the grid in one process, with the code that devices and aggregator use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sim_devices.datasets.population import DataError
from sim_devices.scenarios import lda
from sim_devices.scenarios.class_controls import together
from sim_devices.scenarios.evaluation import (
    accuracy,
    judged,
    noiseless,
    without_network,
    without_reports,
)
from sim_devices.scenarios.scenarios import Scenario
from sim_devices.scenarios.tasks import COHORT, Setting, build
from sim_devices.worth.cell import Budget, Cell, Run
from sim_devices.worth.sets import Set

DELTA = 1e-6
PAIRS = Budget(epsilon=1.0, unit_records=2)
_SEEDS_APART = 1000  # more than there are volunteers or splits: noise of no two seeds is shared


def budgets_of(chosen: Set, epsilons: Sequence[float]) -> list[Budget]:
    """Each epsilon for one record; where it is asked for, epsilon 1 for two as well."""
    singles = [Budget(epsilon) for epsilon in epsilons]
    return [*singles, PAIRS] if chosen.pairs and PAIRS.epsilon in epsilons else singles


def run(
    sets: Sequence[Set],
    epsilons: Sequence[float],
    seed: int,
    advanced: Callable[[int, int], None],
    *,
    shared: bool = False,
) -> list[Cell]:
    """All cells; `advanced(done, all)` is called after every volunteer or split.

    `shared`: whether two aggregators open the sum of all devices, instead of local noise.
    """
    total = sum(len(chosen.chosen) for chosen in sets)
    done = 0
    cells = []
    for chosen in sets:
        budgets = budgets_of(chosen, epsilons)
        runs: dict[Budget, list[Run]] = {budget: [] for budget in budgets}
        for k in chosen.chosen:
            found = runs_of(chosen.scenario(k), budgets, _SEEDS_APART * seed + k, shared=shared)
            for budget, one in found.items():
                runs[budget].append(one)
            done += 1
            advanced(done, total)
        cells += [Cell(chosen.name, budget, tuple(runs[budget])) for budget in budgets]
    return cells


def runs_of(
    scenario: Scenario, budgets: Sequence[Budget], seed: int, *, shared: bool = False
) -> dict[Budget, Run]:
    """One public sample under every budget."""
    same = _same_for_all(scenario)
    return {budget: _run(scenario, budget, seed, same, shared) for budget in budgets}


def _same_for_all(scenario: Scenario) -> dict[str, float]:
    """The controls that know no budget."""
    if scenario.volunteer is None:
        raise DataError(
            f"{scenario.population.name}: nothing is public, so nothing to compare with"
        )
    sample = scenario.volunteer
    X, y = together(scenario.population.unseen)
    models = {
        "plain": lda.plain(sample.X, sample.y),
        "shrunken": lda.shrunken(sample.X, sample.y),
        "pooled": lda.plain(*together(scenario.population.devices)),
    }
    return {name: float(np.mean(model.predict(X) == y)) for name, model in models.items()}


def _run(
    scenario: Scenario, budget: Budget, seed: int, same: dict[str, float], shared: bool
) -> Run:
    population = scenario.population
    cohort = min(COHORT, len(population.devices)) if shared else None
    setting = Setting(
        epsilon=budget.epsilon, delta=DELTA, unit_records=budget.unit_records, cohort=cohort
    )
    task = build(population, scenario.geometry, setting)
    if cohort is not None:
        from sim_devices.network.parties import secured  # which needs `cryptography`

        task = secured(task, cohort)
    subspace = without_network(task, population.devices, seed)
    if subspace.expected_accuracy is None:
        raise DataError(f"{population.name}: the estimate has no classifier; are there classes?")
    found = judged(task, subspace, population.unseen)
    plain = noiseless(task)
    quiet = without_network(plain, population.devices)
    return Run(
        federation=found.accuracy,
        expected=subspace.expected_accuracy,
        confidence=found.confidence,
        alone=accuracy(task, without_reports(task), population.unseen),
        quiet=accuracy(plain, quiet, population.unseen),
        **same,
    )
