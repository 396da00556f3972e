"""What two aggregators are worth in the paper's tables: numbers and Markdown for `--trust secure`.

Each cell with secure noise stands beside the same way with local noise, and beside the paper's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, median

from sim_devices.datasets.models import Model
from sim_devices.paper import summary
from sim_devices.paper.cells import CLIENTS, Cell, printed
from sim_devices.paper.means import Means
from sim_devices.paper.screening.choosing import chosen
from sim_devices.paper.tables import SECURE, wanted_cells

_CLIENTS = CLIENTS[1:]  # one client has nobody to hide behind
CHOSEN = "chosen"
_SHOWN = {"low": ("gaussian", "secure"), "high": ("refined", "secure", "secure-funnel")}


def headline(known: Means) -> dict[str, float | int]:
    """Wins against the paper and the median ratio to the floor, by the number of clients."""
    numbers: dict[str, float | int] = {}
    known = with_chosen(known)
    counted = {"low": _SHOWN["low"], "high": (*_SHOWN["high"], CHOSEN)}
    for setting, names in counted.items():
        there = _there(known, setting)
        if there:
            numbers[f"{setting}_cells"] = len(there)
            first = there[0], names[0]
            numbers[f"{setting}_replications"] = known[first].replications
        for name in names if there else ():
            numbers |= _of(known, there, f"{setting}_{name}", name)
            for K in _CLIENTS if setting == "high" else ():
                some = [cell for cell in there if cell.clients == K]
                numbers |= _of(known, some, f"high_K{K}_{name}", name)
    return {key: round(value, 4) for key, value in numbers.items()}


def with_chosen(known: Means) -> Means:
    """Beside all ways the one that the rule takes in each cell of the high dimension."""
    there = _there(known, "high")
    return {**known, **{(cell, CHOSEN): known[cell, chosen(cell)] for cell in there}}


def _there(known: Means, setting: str) -> list[Cell]:
    return [cell for cell in wanted_cells(setting, SECURE) if (cell, "none") in known]


def _of(known: Means, some: Sequence[Cell], label: str, name: str) -> dict[str, float | int]:
    paper = printed()
    ratios = [known[cell, name].loss / known[cell, "none"].loss for cell in some]
    recalls = [known[cell, name].recall for cell in some]
    numbers: dict[str, float | int] = {
        f"{label}_beats_paper_vgm": sum(
            known[cell, name].loss < paper[cell, "vgm"].loss for cell in some
        ),
        f"{label}_median_ratio_to_floor": median(ratios),
    }
    found = [recall for recall in recalls if recall is not None]
    return numbers | ({f"{label}_recall": fmean(found)} if found else {})


def table_csv(known: Means) -> str:
    """One line per cell, every way beside the paper's numbers."""
    return summary.table_csv(known, ("gaussian", *_SHOWN["high"], "none"), _SHOWN["high"])


_INTRODUCTION = """\
# The paper's tables with two aggregators

```
{command}
```

{numbers}

Projection loss, mean over replications, bold where it is below what the paper prints for FSIR-VGM \
(whose votes and noise are
not private). Everything here is private, within the paper's total budget (2 epsilon and 2 delta). \
*local*: each client adds
all of its noise; *secure*: two aggregators open the sum of all clients (docs/privacy.md, theorem \
15), so that it bears
(2 + K/cohort) times the noise variance of one report, cohort = K up to 20. In high dimension \
*local* and *secure funnel*
send four reports, *secure* two, with slices that are finer in the tails; *chosen* takes four \
where the noise of one report about
all features is more than that of sampling, which the task alone tells. *no noise*: the same \
estimate without clip and noise,
in high dimension with the active set known. It is no bound: the clip alone can be better than no \
clip, because shortened records
weigh less, as in a robust estimate (docs/results/method.md). One client has nobody to hide \
behind: K = 1 is left out.
"""


def table_markdown(known: Means, numbers: Mapping[str, float | int], command: str) -> str:
    """The tables for people, under the command that made them."""
    rows = [f"| {key} | {value} |" for key, value in numbers.items()]
    listed = "\n".join(["| number | value |", "|---|---|", *rows])
    parts = [_INTRODUCTION.format(command=command, numbers=listed)]
    for setting in _SHOWN:
        for epsilon in (1.0, 2.0):
            some = [cell for cell in _there(known, setting) if cell.epsilon == epsilon]
            if some:
                parts.append(_markdown(known, some, setting, epsilon))
    return "\n".join(parts)


def _markdown(known: Means, some: Sequence[Cell], setting: str, epsilon: float) -> str:
    size = "p" if setting == "high" else "n"
    ways = "local / secure / secure funnel" if setting == "high" else "local / secure"
    lines = [
        f"### {setting.title()} dimension, epsilon = {epsilon:g}",
        "",
        f"paper / {ways} / no noise",
        "",
        f"| model | {size} | " + " | ".join(f"K = {K}" for K in _CLIENTS) + " |",
        "|---" * (2 + len(_CLIENTS)) + "|",
    ]
    grouped: dict[tuple[Model, int], dict[int, Cell]] = defaultdict(dict)
    for cell in some:
        grouped[cell.model, cell.p if setting == "high" else cell.n][cell.clients] = cell
    for (model, value), row in grouped.items():
        entries = [_entry(known, row[K]) for K in _CLIENTS]
        lines.append(f"| {model} | {value} | " + " | ".join(entries) + " |")
    return "\n".join([*lines, ""])


def _entry(known: Means, cell: Cell) -> str:
    paper = printed()[cell, "vgm"].loss
    shown = [f"{paper:.3f}"]
    for name in _SHOWN[cell.setting]:
        loss = known[cell, name].loss
        shown.append(f"**{loss:.3f}**" if loss < paper else f"{loss:.3f}")
    return " / ".join([*shown, f"{known[cell, 'none'].loss:.3f}"])
