"""One federation, evaluated on those who took no part."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.subspace import random_loss
from fsir.privacy.claims import statement
from sim_devices.network.federation import Outcome
from sim_devices.results.picture import Panel
from sim_devices.scenarios.control import Beside, Variant
from sim_devices.scenarios.controls import Ahead
from sim_devices.scenarios.evaluation import Judged, judged, projected
from sim_devices.scenarios.number_controls import explained, loss_of
from sim_devices.scenarios.scenarios import Scenario
from sim_devices.scenarios.verdict import Verdict, of_classes, of_losses, of_numbers
from sim_devices.scenarios.virtual_fleets import larger_fleets


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came out, how good it is, and what it is held against."""

    outcome: Outcome
    scenario: Scenario
    judged: Judged | None = None  # where the response is a class
    explained: float | None = None  # R^2, where it is a number
    loss: float | None = None  # distance from the truth, where that is known
    beside: Beside = field(default_factory=Beside)
    verdict: Verdict | None = None
    # Standard errors over unseen people, of the score and of what it adds to what is public.
    error: float | None = None
    gain_error: float | None = None

    @property
    def accuracy(self) -> float | None:
        """Share of unseen records that the classifier names rightly."""
        return None if self.judged is None else self.judged.accuracy

    @property
    def title(self) -> str:
        """Mechanism, budget and result in one line."""
        task = self.outcome.task
        budget = (
            "no noise" if task.privacy.mechanism == "none" else f"epsilon {task.privacy.epsilon:g}"
        )
        mark = "" if statement(task).proven else " (not private)"
        return f"{task.privacy.mechanism}{mark}, {budget}{_right(self.accuracy)}"

    @property
    def yardstick(self) -> float:
        """The loss of directions that were drawn blindly: an error so large says nothing."""
        subspace = self.outcome.subspace
        return random_loss(len(subspace.features), subspace.dimension)

    @property
    def panel(self) -> Panel:
        """Unseen people on the directions of this result."""
        task = self.outcome.task
        Z = projected(task, self.outcome.subspace, self.scenario.population.unseen)
        return self._panel(self.title, Z, self.judged)

    def panels(self) -> list[Panel]:
        """That panel and, where there are controls, those of the public sample alone and of the
        same devices without noise around it."""
        mine = self.panel
        quiet = self.beside.quiet
        if quiet is None or self.outcome.task.privacy.mechanism == "none":
            return [mine]
        marked = replace(mine, title=f"the federation: {self.title}", marked=True)
        alone = self.beside.alone
        left = [] if alone is None else [self._variant(alone, mine.Z)]
        return [*left, marked, self._variant(quiet, mine.Z)]

    def _variant(self, variant: Variant, Z: Matrix) -> Panel:
        score = "" if variant.judged is None else _right(variant.judged.accuracy)
        title = f"{variant.name}{score}"
        return self._panel(title, _turned_like(Z, variant.Z), variant.judged)

    def _panel(self, title: str, Z: Matrix, found: Judged | None) -> Panel:
        population = self.scenario.population
        response = np.concatenate([stream.y for stream in population.unseen])
        wrong = None if found is None else found.wrong
        return Panel(title, Z, response, population.classes, wrong=wrong)

    def table(self, seed: int) -> dict[str, Any]:
        """The result for programs."""
        o = self.outcome
        task = self.outcome.task
        table: dict[str, Any] = {
            "scenario": task.name,
            "accuracy": None if self.accuracy is None else round(self.accuracy, 6),
            "expected_accuracy": o.subspace.expected_accuracy,
            "devices": o.devices,
            "reports_counted": o.subspace.devices,
            "epsilon": task.privacy.epsilon,
            "delta": task.privacy.delta,
            "unit_records": task.privacy.unit_records,
            "mechanism": task.privacy.mechanism,
            "proven": statement(task).proven,
            **({} if task.secure is None else {"cohort": task.secure.cohort}),
            "bytes_per_device": round(o.bytes_per_device, 1),
            "records_per_device": task.report.records,
            "dimension": o.subspace.dimension,
            "expected_error": o.subspace.expected_error,
            "random_error": self.yardstick,
            "features": list(o.subspace.features),
            "retries": o.retries,
            "dropped_connections": o.cuts,
            "crashes": o.crashes,
            "broker": o.broker,
            "seconds": round(o.seconds, 3),
            "simulator_mb": round(o.memory / 2**10, 1),
            "seed": seed,
        }
        return table | self._measured()

    def _measured(self) -> dict[str, Any]:
        table: dict[str, Any] = {}
        if self.judged is not None:
            table["mean_confidence"] = round(self.judged.confidence, 6)
        if self.explained is not None:
            table["explained"] = round(self.explained, 6)
        if self.loss is not None:
            table["loss"] = self.loss
        if self.beside.controls:
            table["controls"] = {c.name: round(c.score, 6) for c in self.beside.controls}
        if self.beside.best_public is not None:
            table["best_public"] = self.beside.best_public.name
        if self.error is not None:
            table["standard_error"] = round(self.error, 6)
        if self.gain_error is not None:
            table["gain_standard_error"] = round(self.gain_error, 6)
        if self.verdict is not None:
            table["gain"] = round(self.verdict.gain, 6)
            table["verdict"] = self.verdict.sentence
        return table


def evaluate(
    outcome: Outcome, scenario: Scenario, ahead: Ahead | None = None, seed: int = 0
) -> Result:
    """Test a subspace on those who took no part; beside controls, if somebody works on them."""
    population = scenario.population
    task = outcome.task
    subspace = outcome.subspace
    result = Result(outcome=outcome, scenario=scenario, loss=loss_of(subspace.basis, scenario))
    if not population.unseen:
        return result
    if population.classes:
        result = replace(result, judged=judged(task, subspace, population.unseen))
    else:
        result = replace(result, explained=explained(task, subspace, population.unseen))
    if ahead is None:
        return result
    result = replace(result, beside=ahead.controls(task, subspace))
    return replace(result, verdict=_verdict(result, seed))


def _verdict(result: Result, seed: int) -> Verdict | None:
    without = result.beside.best_without
    if without is None:
        return None
    if result.explained is not None and result.loss is not None and without.loss is not None:
        return of_losses(result.loss, without, without.loss)
    if result.explained is not None:
        return of_numbers(result.explained, without)
    population = result.scenario.population
    larger = larger_fleets(result.outcome.task, population.devices, population.unseen, seed)
    return None if result.accuracy is None else of_classes(result.accuracy, without, larger)


def _right(share: float | None) -> str:
    return "" if share is None else f", {100 * share:.1f}% right"


def _turned_like(Z: Matrix, other: Matrix) -> Matrix:
    """The other coordinates, mirrored so that people stand where they stand in Z: the sign of a
    direction means nothing."""
    signs = [
        -1.0 if k < Z.shape[1] and float(np.corrcoef(Z[:, k], other[:, k])[0, 1]) < 0.0 else 1.0
        for k in range(other.shape[1])
    ]
    return np.asarray(other * np.array(signs))
