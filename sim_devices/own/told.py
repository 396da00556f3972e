"""A study as people and programs get it: text, picture, page, and one object."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sim_devices.own.cells import Point
from sim_devices.own.study import AXES, Study
from sim_devices.results import curve_png, page, report
from sim_devices.results.curves import Chart, Dot, Level
from sim_devices.results.learned import learned
from sim_devices.results.story import Section, percent, story
from sim_devices.results.table import Row, Table

_TITLES = {
    "epsilon": "what a budget buys",
    "devices": "what more devices would add",
    "records": "what more records would add",
}
_ACROSS = {
    "epsilon": "epsilon of a device",
    "devices": "devices",
    "records": "records of each device",
}

# Controls that are drawn beside a curve, by the beginning of their names.
_SHORT = (
    ("one device alone", "one device"),
    ("the same devices without noise", "no noise"),
    ("all records in one place", "one place"),
)


def write(study: Study, directory: Path) -> tuple[Path, Path]:
    """The picture and the page; their paths."""
    result = study.result
    charts = [_chart(study, axis) for axis in AXES]
    sentence = "" if result.verdict is None else result.verdict.sentence
    png = curve_png.draw(charts, directory / "picture.png", sentence)
    html = page.write(
        directory / "page.html",
        page.Page(
            title=f"{study.own.name}: {study.own.response} as a federation",
            verdict=sentence,
            panels=result.panels(),
            response=study.own.response,
            sections=[*story(result), Section("How was it set up?", study.headline.why)],
            bars=report.bars(result),
            notes=study.notes,
            charts=charts,
            legend=_legend(study),
            table=table(study),
            learned=learned(result.outcome.task, result.outcome.subspace),
        ),
    )
    return png, html


def show(study: Study, png: Path, html: Path) -> None:
    """Print it for people."""
    report.show([study.result], [], png, html, table(study))


def table(study: Study) -> Table:
    """Every point of every curve."""
    measure = "right" if study.result.judged is not None else "R^2"
    rows = []
    for axis in AXES:
        for k, point in enumerate(study.curves[axis]):
            marked = point is study.headline
            rows.append(Row(_cells(study, point), marked=marked, first=k == 0))
    head = ("epsilon", "devices", "records", measure, "adds", "runs", "")
    return Table(f"How does it change? ({measure} on those who took no part)", head, rows)


def _cells(study: Study, point: Point) -> tuple[str, ...]:
    loss = study.loss(point)
    remarks = ["simulated"] if point.simulated else []
    remarks += [] if loss is None else [f"error {loss:.2f} against no noise"]
    return (
        f"{point.cell.epsilon:g}",
        f"{point.cell.devices}",
        f"{point.cell.records}",
        percent(point.score),
        _signed(100 * (point.score - study.without.score)),
        _range(point.scores),
        ", ".join(remarks),
    )


def _signed(points: float) -> str:
    """
    >>> _signed(-0.04), _signed(3.21)
    ('+0.0', '+3.2')
    """
    return f"{round(points, 1) + 0.0:+.1f}"  # adding 0 takes the minus from a zero


def _range(scores: Sequence[float]) -> str:
    """From the worst run to the best."""
    return f"{percent(min(scores))}-{percent(max(scores))}" if len(scores) > 1 else "one"


def _chart(study: Study, axis: str) -> Chart:
    dots = [
        Dot(
            x=getattr(point.cell, axis),
            y=point.score,
            low=min(point.scores),
            high=max(point.scores),
            simulated=point.simulated,
            marked=point is study.headline,
        )
        for point in study.curves[axis]
    ]
    up = "% right" if study.result.judged is not None else "R^2, %"
    return Chart(title=_TITLES[axis], across=_ACROSS[axis], up=up, dots=dots, levels=_levels(study))


def _legend(study: Study) -> str:
    runs = len(study.headline.scores)
    drawn = f"the median of {runs} runs, and from the worst to the best" if runs > 1 else "one run"
    hollow = any(point.simulated for _, point in study.points)
    return f"● {drawn}" + (" · ○ simulated, with devices drawn again" if hollow else "")


def _levels(study: Study) -> list[Level]:
    """The controls that a curve is held against: the best that is public, and all others."""
    levels = [("best public", study.without)]
    for control in study.result.beside.controls:
        levels += [(short, control) for start, short in _SHORT if control.name.startswith(start)]
    return [
        Level(f"{short} {percent(control.score)}", control.score, control.kind)
        for short, control in levels
    ]


def as_object(study: Study, seed: int, png: Path, html: Path) -> dict[str, Any]:
    """The same for programs."""
    return study.result.table(seed) | {
        "public": list(study.own.public),
        "unseen": list(study.own.unseen),
        "curves": {axis: [_point(study, point) for point in study.curves[axis]] for axis in AXES},
        "left_out": study.own.left_out,
        "why": study.headline.why,
        "notes": study.notes,
        "picture": str(png),
        "page": str(html),
    }


def _point(study: Study, point: Point) -> dict[str, Any]:
    return {
        **point.cell._asdict(),
        "score": round(point.score, 6),
        "adds": round(point.score - study.without.score, 6),
        "scores": [round(score, 6) for score in point.scores],
        "simulated": point.simulated,
        "loss": _short(study.loss(point)),
        "coordinates": point.outcome.task.coordinates,
        "broker": point.outcome.broker,
    }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
