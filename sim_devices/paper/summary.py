"""From means to tables: CSV, Markdown, and the few numbers that matter."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from sim_devices.datasets.models import Model
from sim_devices.paper.cells import CLIENTS, Cell, cells, printed
from sim_devices.paper.means import Means

CLOSE = 0.2  # a reproduced cell is within this of the paper's
ROOM = 1.1  # from this many times the floor on, a cell of the paper can be beaten


def headline(known: Means) -> dict[str, float | int]:
    """The numbers by which the tables are judged."""
    summary: dict[str, float | int] = {}
    for setting in ("low", "high"):
        there = [cell for cell in cells(setting) if (cell, "gaussian") in known]
        if not there:
            continue
        summary |= _of_setting(known, setting, there)
        if setting == "high":
            summary["high_funnel_beats_paper_vgm"] = _wins(known, there, "funnel")
            for K in CLIENTS:
                summary |= _of_clients(known, K, [cell for cell in there if cell.clients == K])
    return {key: round(value, 4) for key, value in summary.items()}


def _of_setting(known: Means, setting: str, there: Sequence[Cell]) -> dict[str, float | int]:
    paper = printed()
    floor = {cell: known[cell, "none"].loss for cell in there}
    beatable = [cell for cell in there if paper[cell, "vgm"].loss >= ROOM * floor[cell]]
    errors = [
        abs(known[cell, name].loss / paper[cell, name].loss - 1.0)
        for cell in there
        for name in ("iid", "vgm")
    ]
    numbers = {
        "cells": len(there),
        "fewest_replications": min(known[cell, "gaussian"].replications for cell in there),
        "reproduced_within_20_percent": fmean(error <= CLOSE for error in errors),
        "reproduced_median_error": median(errors),
        "gaussian_beats_paper_vgm": _wins(known, there, "gaussian"),
        "beatable_cells": len(beatable),
        "gaussian_beats_beatable": _wins(known, beatable, "gaussian"),
        "median_ratio_to_floor": median(
            known[cell, "gaussian"].loss / floor[cell] for cell in there
        ),
    }
    return {f"{setting}_{name}": number for name, number in numbers.items()}


def _of_clients(known: Means, K: int, some: Sequence[Cell]) -> dict[str, float | int]:
    """What depends on the number of clients, in high dimension."""
    summary: dict[str, float | int] = {f"high_K{K}_cells": len(some)}
    for name in ("gaussian", "funnel", "votes"):
        recalls = (known[cell, name].recall or 0.0 for cell in some)
        summary[f"high_K{K}_{name}_beats_paper_vgm"] = _wins(known, some, name)
        summary[f"high_K{K}_{name}_recall"] = fmean(recalls)
    return summary


def _wins(known: Means, some: Sequence[Cell], mechanism: str) -> int:
    return sum(known[cell, mechanism].loss < printed()[cell, "vgm"].loss for cell in some)


_PLACE = ("setting", "epsilon", "model", "p", "n", "K")
_LOSSES = ("iid", "vgm", "gaussian", "funnel", "votes", "none")
_SCREENED = ("vgm", "gaussian", "funnel", "votes")


def table_csv(
    known: Means, names: Sequence[str] = _LOSSES, screened: Sequence[str] = _SCREENED
) -> str:
    """One line per cell, every mechanism beside the paper's numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [f"{name}{part}" for name in names for part in ("", "_se")]
    recalls = [f"{name}_{part}" for name in screened for part in ("recall", "size")]
    writer.writerow([*_PLACE, "replications", "paper_iid", "paper_vgm", *columns, *recalls])
    for cell in [*cells("low"), *cells("high")]:
        if (cell, "none") in known:
            writer.writerow(_row(known, cell, names, screened))
    return text.getvalue()


def _row(known: Means, cell: Cell, names: Sequence[str], screened: Sequence[str]) -> list[Any]:
    place = [cell.setting, f"{cell.epsilon:g}", cell.model, cell.p, cell.n, cell.clients]
    row = [*place, known[cell, "none"].replications]
    row += [printed()[cell, name].loss for name in ("iid", "vgm")]
    for name in names:
        mean = known.get((cell, name))
        row += ["", ""] if mean is None else [f"{mean.loss:.4f}", f"{mean.standard_error:.4f}"]
    for name in screened:
        mean = known.get((cell, name))
        if mean is None or mean.recall is None:
            row += ["", ""]
        else:
            row += [f"{mean.recall:.3f}", f"{mean.size:.1f}"]
    return row


_INTRODUCTION = """\
# The paper's tables

```
{command}
```

{numbers}

Projection loss, mean over replications. *paper*: what it prints for FSIR-VGM. *reproduced*: VGM \
under the profile
`tables`; it is not private. *ours*: the default release `gaussian` within the paper's total \
budget (2 epsilon and
2 delta), bold where it is below the paper's number; in high dimension with two reports, *funnel* \
with four. *no noise*:
the same estimate without clip and noise, in high dimension with the active set known. Largest \
possible loss: 1.414 for
I and II, 2 for the others. I.i.d. noise, standard errors, private votes and recall of the active \
set: tables.csv.
"""


def table_markdown(known: Means, numbers: Mapping[str, float | int], command: str) -> str:
    """The tables for people, under the command that made them."""
    rows = [f"| {key} | {value} |" for key, value in numbers.items()]
    listed = "\n".join(["| number | value |", "|---|---|", *rows])
    parts = [_INTRODUCTION.format(command=command, numbers=listed)]
    for setting in ("low", "high"):
        there = [cell for cell in cells(setting) if (cell, "gaussian") in known]
        for epsilon in (1.0, 2.0):
            some = [cell for cell in there if cell.epsilon == epsilon]
            if some:
                title = f"{setting} dimension, epsilon = {epsilon:g}"
                parts.append(_markdown(known, some, title))
    return "\n".join(parts)


def _markdown(known: Means, some: Sequence[Cell], title: str) -> str:
    high = some[0].setting == "high"
    size = "p" if high else "n"
    ours = "ours / funnel" if high else "ours"
    lines = [
        f"### {title[0].upper()}{title[1:]}",
        "",
        f"paper / reproduced / {ours} / no noise",
        "",
        f"| model | {size} | " + " | ".join(f"K = {K}" for K in CLIENTS) + " |",
        "|---" * (2 + len(CLIENTS)) + "|",
    ]
    grouped: dict[tuple[Model, int], dict[int, Cell]] = defaultdict(dict)
    for cell in some:
        grouped[cell.model, cell.p if high else cell.n][cell.clients] = cell
    for (model, value), row in grouped.items():
        entries = [_entry(known, row[K]) if K in row else "" for K in CLIENTS]
        lines.append(f"| {model} | {value} | " + " | ".join(entries) + " |")
    return "\n".join([*lines, ""])


def _entry(known: Means, cell: Cell) -> str:
    paper = printed()[cell, "vgm"].loss
    shown = [f"{paper:.3f}", f"{known[cell, 'vgm'].loss:.3f}"]
    for name in ("gaussian", "funnel") if cell.setting == "high" else ("gaussian",):
        loss = known[cell, name].loss
        shown.append(f"**{loss:.3f}**" if loss < paper else f"{loss:.3f}")
    return " / ".join([*shown, f"{known[cell, 'none'].loss:.3f}"])
