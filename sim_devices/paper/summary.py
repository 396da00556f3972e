"""From replications to tables: CSV, Markdown, and the few numbers that matter."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from sim_devices.paper.cells import CLIENTS, Cell, cells, printed
from sim_devices.paper.tables import Unit, Value

CLOSE = 0.2  # a reproduced cell is within this of the paper's
ROOM = 1.1  # from this many times the floor on, a cell of the paper can be beaten


@dataclass(frozen=True)
class Mean:
    """The replications of one cell and mechanism."""

    loss: float
    standard_error: float
    replications: int
    recall: float | None
    size: float | None


Means = Mapping[tuple[Cell, str], Mean]


def means(results: Mapping[Unit, Sequence[Value]]) -> Means:
    """Average over replications."""
    grouped: dict[tuple[Cell, str], list[Value]] = defaultdict(list)
    for unit in sorted(
        results, key=lambda unit: (unit.setting, unit.model, unit.p, unit.replication)
    ):
        for value in results[unit]:
            cell = Cell(unit.setting, unit.model, value.epsilon, unit.p, value.n, value.clients)
            grouped[cell, value.mechanism].append(value)
    return {key: mean_of(values) for key, values in grouped.items()}


def mean_of(values: Sequence[Value]) -> Mean:
    """Mean loss with its standard error; recall and size where there is an active set."""
    losses = [value.loss for value in values]
    error = stdev(losses) / math.sqrt(len(losses)) if len(losses) > 1 else math.nan
    recalls = [value.recall for value in values if value.recall is not None]
    sizes = [value.size for value in values if value.size is not None]
    return Mean(
        fmean(losses),
        error,
        len(losses),
        fmean(recalls) if recalls else None,
        fmean(sizes) if sizes else None,
    )


def headline(found: Means) -> dict[str, float | int]:
    """The numbers by which the tables are judged."""
    paper = printed()
    summary: dict[str, float | int] = {}
    for setting in ("low", "high"):
        there = [cell for cell in cells(setting) if (cell, "gaussian") in found]
        if not there:
            continue
        floor = {cell: found[cell, "none"].loss for cell in there}
        beatable = [cell for cell in there if paper[cell, "vgm"].loss >= ROOM * floor[cell]]
        errors = [
            abs(found[cell, name].loss / paper[cell, name].loss - 1.0)
            for cell in there
            for name in ("iid", "vgm")
        ]
        summary |= {
            f"{setting}_cells": len(there),
            f"{setting}_fewest_replications": min(
                found[cell, "gaussian"].replications for cell in there
            ),
            f"{setting}_reproduced_within_20_percent": fmean(error <= CLOSE for error in errors),
            f"{setting}_reproduced_median_error": median(errors),
            f"{setting}_gaussian_beats_paper_vgm": _wins(found, there, "gaussian"),
            f"{setting}_beatable_cells": len(beatable),
            f"{setting}_gaussian_beats_beatable": _wins(found, beatable, "gaussian"),
            f"{setting}_median_ratio_to_floor": median(
                found[cell, "gaussian"].loss / floor[cell] for cell in there
            ),
        }
        if setting == "high":
            summary["high_funnel_beats_paper_vgm"] = _wins(found, there, "funnel")
            for K in CLIENTS:
                some = [cell for cell in there if cell.clients == K]
                summary[f"high_K{K}_cells"] = len(some)
                for name in ("gaussian", "funnel", "votes"):
                    summary[f"high_K{K}_{name}_beats_paper_vgm"] = _wins(found, some, name)
                    summary[f"high_K{K}_{name}_recall"] = fmean(
                        found[cell, name].recall or 0.0 for cell in some
                    )
    return {key: round(value, 4) for key, value in summary.items()}


def _wins(found: Means, some: Sequence[Cell], mechanism: str) -> int:
    return sum(found[cell, mechanism].loss < printed()[cell, "vgm"].loss for cell in some)


_PLACE = ("setting", "epsilon", "model", "p", "n", "K")
_LOSSES = ("iid", "vgm", "gaussian", "funnel", "votes", "none")


def table_csv(found: Means) -> str:
    """One line per cell, every mechanism beside the paper's numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [f"{name}{part}" for name in _LOSSES for part in ("", "_se")]
    recalls = [
        f"{name}_{part}"
        for name in ("vgm", "gaussian", "funnel", "votes")
        for part in ("recall", "size")
    ]
    writer.writerow([*_PLACE, "replications", "paper_iid", "paper_vgm", *columns, *recalls])
    for cell in [*cells("low"), *cells("high")]:
        if (cell, "gaussian") not in found:
            continue
        row = [cell.setting, f"{cell.epsilon:g}", cell.model, cell.p, cell.n, cell.clients]
        row += [
            found[cell, "gaussian"].replications,
            *(printed()[cell, name].loss for name in ("iid", "vgm")),
        ]
        for name in _LOSSES:
            mean = found.get((cell, name))
            row += ["", ""] if mean is None else [f"{mean.loss:.4f}", f"{mean.standard_error:.4f}"]
        for name in ("vgm", "gaussian", "funnel", "votes"):
            mean = found.get((cell, name))
            known = mean is not None and mean.recall is not None
            row += (
                [f"{mean.recall:.3f}", f"{mean.size:.1f}"]
                if mean is not None and known
                else ["", ""]
            )
        writer.writerow(row)
    return text.getvalue()


_INTRODUCTION = """# The paper's tables

```
{command}
```

{numbers}

Projection loss, mean over replications. *paper*: what it prints for FSIR-VGM. *reproduced*: VGM under the profile
`tables`; it is not private. *ours*: the default release `gaussian` within the paper's total budget (2 epsilon and
2 delta), bold where it is below the paper's number; in high dimension with two reports, *funnel* with four. *no noise*:
the same estimate without clip and noise, in high dimension with the active set known. Largest possible loss: 1.414 for
I and II, 2 for the others. I.i.d. noise, standard errors, private votes and recall of the active set: tables.csv.
"""


def table_markdown(found: Means, numbers: Mapping[str, float | int], command: str) -> str:
    """The tables for people, under the command that made them."""
    listed = "\n".join(
        [
            "| number | value |",
            "|---|---|",
            *(f"| {key} | {value} |" for key, value in numbers.items()),
        ]
    )
    parts = [_INTRODUCTION.format(command=command, numbers=listed)]
    for setting, size in (("low", "n"), ("high", "p")):
        for epsilon in (1.0, 2.0):
            some = [
                cell
                for cell in cells(setting)
                if cell.epsilon == epsilon and (cell, "gaussian") in found
            ]
            if some:
                parts.append(
                    _markdown(found, some, size, f"{setting} dimension, epsilon = {epsilon:g}")
                )
    return "\n".join(parts)


def _markdown(found: Means, some: Sequence[Cell], size: str, title: str) -> str:
    high = some[0].setting == "high"
    ours = "ours / funnel" if high else "ours"
    lines = [
        f"### {title[0].upper()}{title[1:]}",
        "",
        f"paper / reproduced / {ours} / no noise",
        "",
    ]
    lines += [
        f"| model | {size} | " + " | ".join(f"K = {K}" for K in CLIENTS) + " |",
        "|---" * (2 + len(CLIENTS)) + "|",
    ]
    for model, value in dict.fromkeys((cell.model, getattr(cell, size)) for cell in some):
        row = {
            cell.clients: cell
            for cell in some
            if (cell.model, getattr(cell, size)) == (model, value)
        }
        entries = [_entry(found, row[K]) if K in row else "" for K in CLIENTS]
        lines.append(f"| {model} | {value} | " + " | ".join(entries) + " |")
    return "\n".join([*lines, ""])


def _entry(found: Means, cell: Cell) -> str:
    paper = printed()[cell, "vgm"].loss
    shown = [f"{paper:.3f}", f"{found[cell, 'vgm'].loss:.3f}"]
    for name in ("gaussian", "funnel") if cell.setting == "high" else ("gaussian",):
        loss = found[cell, name].loss
        shown.append(f"**{loss:.3f}**" if loss < paper else f"{loss:.3f}")
    return " / ".join([*shown, f"{found[cell, 'none'].loss:.3f}"])
