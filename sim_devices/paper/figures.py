"""The figures: curves as SVG with the numbers beside them as CSV, the scatter of flights as PNG."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sim_devices.datasets import flights as flight_data
from sim_devices.paper import curves
from sim_devices.paper.curves import Point
from sim_devices.paper.flights import airline

_COLOURS = {"none": "#555555", "gaussian": "#0072b2", "iid": "#e69f00", "vgm": "#d55e00"}
_LABELS = {
    "none": "no noise",
    "gaussian": "gaussian (private)",
    "iid": "paper, i.i.d. (not private as run)",
    "vgm": "paper, VGM (not private)",
}
_SHOWN_FLIGHTS = 1000


def cost(replications: int, seed: int, out: Path) -> dict[str, float]:
    """Privacy cost against n at one client."""
    points = curves.cost_curve(replications, seed)
    _write(out / "cost.csv", points)
    panels = [
        (f"model {model}", [point for point in points if point.model == model])
        for model in curves.COST_MODELS
    ]
    _draw(panels, lambda point: point.n, "records of the client", out / "cost.svg")
    return {f"{point.model}_{point.mechanism}_n{point.n}": point.angle for point in points}


def clients(replications: int, seed: int, out: Path) -> dict[str, float]:
    """Angle against the number of clients, model I."""
    points = curves.clients_curve(replications, seed)
    _write(out / "clients.csv", points)
    panels = [
        (f"n = {n}", [point for point in points if point.n == n]) for n in curves.CLIENT_SIZES
    ]
    _draw(panels, lambda point: point.clients, "clients", out / "clients.svg")
    return {f"n{point.n}_{point.mechanism}_K{point.clients}": point.angle for point in points}


def flights(seeds: int, seed: int, epsilon: float, out: Path) -> dict[str, Any]:
    """Arrival delay against the first direction,
    and the median angles to the direction without privacy."""
    population = flight_data.flights(seed)
    designs = {name: design(population, epsilon) for name, design in airline.DESIGNS.items()}
    turned = airline.median_angles(population, designs, range(seeds), epsilon)
    carriers = airline.Carriers(population, designs["rehearsed"], epsilon)
    target = airline.without_privacy(population)
    directions = {"none": target} | {
        name: carriers.direction(name, 0) for name in airline.MECHANISMS
    }
    X, y = airline.standardised(population.devices)
    chosen = np.random.default_rng(seed).permutation(len(y))[:_SHOWN_FLIGHTS]
    figure, axes = _canvas(len(directions))
    for axis, (name, beta) in zip(axes, directions.items(), strict=True):
        signed = beta * np.sign((beta.T @ target).item())  # a direction has no sign
        across = X[chosen] @ signed / np.linalg.norm(signed)
        axis.scatter(across, y[chosen], s=4, color=_COLOURS[name], alpha=0.6)
        axis.set(title=_LABELS[name], xlabel="first direction")
    axes[0].set_ylabel("arrival delay, minutes")
    _save(figure, out / "flights.png")
    clips = {name: round(design.norm, 2) for name, design in designs.items()}
    return {
        "epsilon": epsilon,
        "seeds": seeds,
        "median_angle_degrees": turned,
        "clip": clips,
        "smallest_eigenvalue": round(float(np.linalg.eigvalsh(np.cov(X.T))[0]), 3),
        "caveats": list(population.caveats),
    }


def _draw(
    panels: Sequence[tuple[str, list[Point]]],
    across: Callable[[Point], int],
    label: str,
    path: Path,
) -> None:
    figure, axes = _canvas(len(panels))
    for axis, (title, points) in zip(axes, panels, strict=True):
        for mechanism, colour in _COLOURS.items():
            some = (point for point in points if point.mechanism == mechanism)
            line = sorted(some, key=lambda point: (point.n, point.clients))
            x = [across(point) for point in line]
            low = [point.low for point in line]
            high = [point.high for point in line]
            angle = [point.angle for point in line]
            axis.plot(x, angle, color=colour, label=_LABELS[mechanism])
            axis.fill_between(x, low, high, color=colour, alpha=0.12, lw=0)
        axis.set(title=title, xlabel=label, xscale="log", ylim=(0, 92))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("angle to the truth, degrees")
    axes[-1].legend(fontsize=7, frameon=False)
    _save(figure, path)


def _canvas(panels: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # slow to import, and needed only where something is drawn

    figure = Figure(figsize=(3.4 * panels, 3.4), layout="constrained")
    return figure, figure.subplots(1, panels, sharey=True, squeeze=False)[0]


def _save(figure: Any, path: Path) -> None:
    # Without a date and with fixed names the same numbers give the same file.
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "fsir"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _write(path: Path, points: Iterable[Point]) -> None:
    rows = [asdict(point) for point in points]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
