"""What a run says at its end: a few lines for people, one object for programs, a picture and a
page."""

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
from sim_devices.scenarios.evaluation import accuracy, projected
from sim_devices.scenarios.scenarios import Scenario


@dataclass(frozen=True)
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
        task, unseen = self.outcome.task, self.scenario.population.unseen
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
        o, task = self.outcome, self.outcome.task
        found: dict[str, Any] = {
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
            found["loss"] = self.loss
        if self.controls:
            found["controls"] = {name: round(value, 6) for name, value in self.controls.items()}
        return found


def evaluate(outcome: Outcome, scenario: Scenario, with_controls: bool) -> Result:
    """Test a subspace on those who took no part."""
    population, task = scenario.population, outcome.task
    scored = (
        accuracy(task, outcome.subspace, population.unseen)
        if population.classes and population.unseen
        else None
    )
    loss = (
        None if scenario.truth is None else projection_loss(outcome.subspace.basis, scenario.truth)
    )
    beside = {}
    if with_controls and scored is not None:
        from sim_devices.scenarios.evaluation import controls

        beside = controls(task, population.devices, scenario.volunteer, population.unseen)
    return Result(outcome, scenario, scored, loss, beside)


def spent(task: Task, active: int) -> float:
    """Epsilon that a device has spent, from the costs of its stages: what its ledger says."""
    stages = [first_stage(task)]
    if task.screening is not None:
        stages.append(final_stage(task, tuple(range(active))))
    return epsilon_of(compose(*(stage.mu for stage in stages)), task.privacy.delta)


def facts(result: Result) -> dict[str, str]:
    """The result for people, line by line."""
    o, task = result.outcome, result.outcome.task
    s = o.subspace
    kept = f"{len(s.features)} out of {task.p} features: {', '.join(s.features[:9])}"
    lines = {
        "devices": f"{s.devices} counted of {o.devices} that came, {s.records} records, {o.retries} retries",
        "privacy": _privacy(task, len(s.features)),
        "sent per device": f"{o.bytes_per_device:.0f} bytes",
        "subspace": f"{s.dimension} directions of {kept}",
        "how sure": f"expected error {s.expected_error:.3f} (0 is perfect, {np.sqrt(2 * s.dimension):.2f} is nothing)",
    }
    if o.cuts or o.crashes:
        lines["on the way"] = (
            f"{o.cuts} connections lost, {o.crashes} devices crashed and came back"
        )
    if result.accuracy is not None:
        people = len(result.scenario.population.unseen)
        lines["accuracy"] = f"{100 * result.accuracy:.1f}% on {people} people who took no part"
    if result.loss is not None and result.scenario.truth is not None:
        worst = (
            float(np.max(angles(s.basis, result.scenario.truth)))
            if s.dimension == result.scenario.truth.shape[1]
            else None
        )
        lines["true error"] = f"{result.loss:.3f}" + (
            "" if worst is None else f", largest angle {worst:.1f} degrees"
        )
    for name, value in result.controls.items():
        lines[f"control: {name}"] = f"{100 * value:.1f}%"
    return lines


def _privacy(task: Task, active: int) -> str:
    known, g = statement(task), task.privacy.unit_records
    unit = "one record" if g == 1 else f"{g} consecutive records"
    if not known.proven:
        return f"NOT PROVEN ({known.reason})"
    return f"epsilon {spent(task, active):.3f} spent at delta {task.privacy.delta:.2g} per {unit}, once and for all"


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
            print(
                f"  {name:<42} {value}" if name.startswith("control") else f"  {name:<16} {value}"
            )
    for caveat in results[0].scenario.population.caveats:
        print(f"  note: {caveat}")
    for other in beside:
        score = "" if other.accuracy is None else f": accuracy {100 * other.accuracy:.1f}%"
        print(f"  beside it, at delta {other.outcome.task.privacy.delta:g}{score}")
    print(f"\n  picture: {png}\n  page:    {html}")
