"""What a run says at its end: a few lines for people, one object for programs,
a picture and a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fsir.estimate.subspace import angles, projection_loss
from fsir.privacy.accounting import compose, epsilon_of
from fsir.privacy.claims import statement
from fsir.privacy.plan import final_stage, first_stage
from fsir.task.task import Task
from sim_devices.network.federation import Outcome
from sim_devices.results import page, picture
from sim_devices.scenarios.evaluation import accuracy, controls, projected
from sim_devices.scenarios.scenarios import Scenario


@dataclass(frozen=True, kw_only=True)
class Result:
    """One federation, evaluated."""

    outcome: Outcome
    scenario: Scenario
    accuracy: float | None
    loss: float | None
    controls: dict[str, float] = field(default_factory=dict)

    @property
    def panel(self) -> picture.Panel:
        """Unseen people on the estimated directions."""
        task = self.outcome.task
        unseen = self.scenario.population.unseen
        response = np.concatenate([stream.y for stream in unseen])
        Z = projected(task, self.outcome.subspace, unseen)
        return picture.Panel(self.title, Z, response, self.scenario.population.classes)

    @property
    def title(self) -> str:
        """Mechanism, budget and result in one line."""
        task = self.outcome.task
        budget = (
            "no noise" if task.privacy.mechanism == "none" else f"epsilon {task.privacy.epsilon:g}"
        )
        score = "" if self.accuracy is None else f", {100 * self.accuracy:.1f}% right"
        mark = "" if statement(task).proven else " (not private)"
        return f"{task.privacy.mechanism}{mark}, {budget}{score}"

    def table(self, seed: int) -> dict[str, Any]:
        """The result for programs."""
        o = self.outcome
        task = self.outcome.task
        table: dict[str, Any] = {
            "scenario": task.name,
            "accuracy": None if self.accuracy is None else round(self.accuracy, 6),
            "devices": o.devices,
            "reports_counted": o.subspace.devices,
            "epsilon": task.privacy.epsilon,
            "delta": task.privacy.delta,
            "unit_records": task.privacy.unit_records,
            "mechanism": task.privacy.mechanism,
            "proven": statement(task).proven,
            "bytes_per_device": round(o.bytes_per_device, 1),
            "records_per_device": task.report.records,
            "dimension": o.subspace.dimension,
            "expected_error": o.subspace.expected_error,
            "features": list(o.subspace.features),
            "retries": o.retries,
            "dropped_connections": o.cuts,
            "crashes": o.crashes,
            "broker": o.broker,
            "seconds": round(o.seconds, 2),
            "seed": seed,
        }
        if self.loss is not None:
            table["loss"] = self.loss
        if self.controls:
            table["controls"] = {name: round(value, 6) for name, value in self.controls.items()}
        return table


def evaluate(outcome: Outcome, scenario: Scenario, with_controls: bool) -> Result:
    """Test a subspace on those who took no part."""
    population = scenario.population
    task = outcome.task
    scored = None
    if population.classes and population.unseen:
        scored = accuracy(task, outcome.subspace, population.unseen)
    loss = None
    if scenario.truth is not None:
        loss = projection_loss(outcome.subspace.basis, scenario.truth)
    beside = {}
    if with_controls and scored is not None:
        beside = controls(task, population.devices, scenario.volunteer, population.unseen)
    return Result(outcome=outcome, scenario=scenario, accuracy=scored, loss=loss, controls=beside)


def spent(task: Task, active: int) -> float:
    """Epsilon that a device has spent, from the costs of its stages: what its ledger says."""
    stages = [first_stage(task)]
    if task.screening is not None:
        stages.append(final_stage(task, tuple(range(active))))
    return epsilon_of(compose(*(stage.mu for stage in stages)), task.privacy.delta)


def facts(result: Result) -> dict[str, str]:
    """The result for people, line by line."""
    o = result.outcome
    s = o.subspace
    came = f"{s.devices} counted of {o.devices} that came"
    kept = f"{len(s.features)} out of {o.task.p} features: {', '.join(s.features[:9])}"
    worst = np.sqrt(2 * s.dimension)
    lines = {
        "devices": f"{came}, {s.records} records, {o.retries} retries",
        "privacy": _privacy(o.task, len(s.features)),
        "sent per device": f"{o.bytes_per_device:.0f} bytes",
        "subspace": f"{s.dimension} directions of {kept}",
        "how sure": f"expected error {s.expected_error:.3f} (0 is perfect, {worst:.2f} is nothing)",
    }
    if o.cuts or o.crashes:
        crashed = f"{o.crashes} devices crashed and came back"
        lines["on the way"] = f"{o.cuts} connections lost, {crashed}"
    if result.accuracy is not None:
        people = len(result.scenario.population.unseen)
        lines["accuracy"] = f"{100 * result.accuracy:.1f}% on {people} people who took no part"
    if result.loss is not None:
        lines["true error"] = f"{result.loss:.3f}{_turned(result)}"
    for name, value in result.controls.items():
        lines[f"control: {name}"] = f"{100 * value:.1f}%"
    return lines


def _turned(result: Result) -> str:
    """By how much the subspace is turned against the truth, where both have the same dimension."""
    subspace = result.outcome.subspace
    truth = result.scenario.truth
    if truth is None or subspace.dimension != truth.shape[1]:
        return ""
    return f", largest angle {float(np.max(angles(subspace.basis, truth))):.1f} degrees"


def _privacy(task: Task, active: int) -> str:
    known = statement(task)
    if not known.proven:
        return f"NOT PROVEN ({known.reason})"
    g = task.privacy.unit_records
    unit = "one record" if g == 1 else f"{g} consecutive records"
    delta = f"{task.privacy.delta:.2g}"
    return f"epsilon {spent(task, active):.3f} spent at delta {delta} per {unit}, once and for all"


def write_pictures(results: list[Result], directory: Path, title: str) -> tuple[Path, Path]:
    """A PNG and a self-contained page; their paths."""
    panels = [result.panel for result in results]
    name = results[0].scenario.geometry.response
    png = picture.draw(panels, directory / "picture.png", title, name)
    notes = [*results[0].scenario.population.caveats, *results[0].outcome.subspace.notes]
    html = page.write(directory / "page.html", title, facts(results[0]), panels, notes)
    return png, html


def show(results: list[Result], beside: list[Result], png: Path, html: Path) -> None:
    """Print the result for people."""
    for result in results:
        print(f"\n{result.title}")
        for name, value in facts(result).items():
            width = 42 if name.startswith("control") else 16
            print(f"  {name:<{width}} {value}")
    for caveat in results[0].scenario.population.caveats:
        print(f"  note: {caveat}")
    for other in beside:
        score = "" if other.accuracy is None else f": accuracy {100 * other.accuracy:.1f}%"
        print(f"  beside it, at delta {other.outcome.task.privacy.delta:g}{score}")
    print(f"\n  picture: {png}\n  page:    {html}")
