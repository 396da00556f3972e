"""`fsir-aggregator task new`: a commented task file from a sample of public data."""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.contract import task_from_table
from fsir.errors import FsirError, TaskError
from fsir.privacy.accounting import free_scales, minimum_sample_size, mu_of
from fsir.task.public_sample import TRUNCATE, forward_selection, standard, varying
from fsir.task.slicing import Slicing

FEW_CLASSES = 12  # whole numbers with at most so many different values are classes, not a quantity
MANY_FEATURES = 64  # beyond this a first report chooses some
TOLERATED = 0.1  # noise of a slice mean, if the number of records is left to us
DELTA = 1e-6

Matrix = NDArray[np.float64]


def new(args: argparse.Namespace) -> int:
    """Read the sample, write the task."""
    columns = _read(Path(args.sample), args.response)
    if args.response not in columns:
        raise FsirError(
            f"--response {args.response!r}: the sample has no such column; it has {_some(columns)}"
        )
    response = columns.pop(args.response)
    names, X = _features(columns, args.features.split(",") if args.features else None)
    slicing, why = _slicing(response, args.slices)
    if args.keep is not None:
        names, X = _chosen(names, X, slicing.slices_of(response), args.keep)
    text = _write(args, names, X, slicing, why)
    task = task_from_table(tomllib.loads(text))  # what we write must be readable
    if args.output is None:
        sys.stdout.write(text)
    else:
        Path(args.output).write_text(text, encoding="utf-8")
    print(
        f"task {task.name!r}: {task.p} features; now read it, then: fsir-aggregator task check",
        file=sys.stderr,
    )
    return 0


def _read(path: Path, response: str) -> dict[str, list[str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = csv.reader(file)
    except FileNotFoundError:
        raise FsirError(f"--sample {path}: there is no such file") from None
    except (ValueError, UnicodeDecodeError, csv.Error) as error:
        raise FsirError(f"--sample {path}: not a CSV file with a header line ({error})") from None
    rows = [row for row in rows if row]
    if response in header:  # a record without a response tells nothing about it
        at = header.index(response)
        rows = [row for row in rows if len(row) <= at or row[at].strip()]
    if len(rows) < 2 or any(len(row) != len(header) for row in rows):
        raise FsirError(
            f"--sample {path}: give at least two rows with a response, each with as many values as the header "
            f"({len(header)})"
        )
    return {name: [row[j] for row in rows] for j, name in enumerate(header)}


def _features(columns: dict[str, list[str]], wanted: list[str] | None) -> tuple[list[str], Matrix]:
    if wanted is not None and (unknown := [name for name in wanted if name not in columns]):
        raise FsirError(
            f"--features {unknown[0]!r}: the sample has no such column; it has {_some(columns)}"
        )
    numbers = {
        name: values
        for name in wanted or columns
        if (values := _numbers(columns[name])) is not None
    }
    if wanted is not None and (words := [name for name in wanted if name not in numbers]):
        raise FsirError(
            f"--features {words[0]!r}: not every value is a finite number; leave it out or mend the sample"
        )
    if not numbers:
        raise FsirError("the sample has no column of numbers beside the response")
    return list(numbers), np.column_stack(list(numbers.values()))


def _numbers(values: Sequence[str]) -> Matrix | None:
    try:
        array = np.array([float(value) for value in values])
    except ValueError:
        return None
    return array if np.isfinite(array).all() else None


def _some(names: Sequence[str] | dict[str, Any]) -> str:
    listed = list(names)
    return ", ".join(listed[:8]) + (", ..." if len(listed) > 8 else "")


def _chosen(
    names: list[str], X: Matrix, slices: NDArray[np.int64], keep: int
) -> tuple[list[str], Matrix]:
    """The features that tell the slices of the sample apart best, in their order there."""
    if keep < 1:
        raise FsirError(f"--keep {keep}: give the number of features to keep, 1 or more")
    chosen = sorted(forward_selection(X, slices, keep))
    if not chosen:
        raise FsirError(
            f"--keep {keep}: every feature is constant in the sample; give one in which they vary"
        )
    return [names[j] for j in chosen], X[:, chosen]


def _slicing(values: list[str], slices: int) -> tuple[Slicing, str]:
    """The slices of the response, and why these."""
    numbers, different = _numbers(values), sorted(set(values))
    whole = numbers is not None and bool((numbers == np.rint(numbers)).all())
    if numbers is None or (whole and len(different) <= FEW_CLASSES):
        if len(different) < 2:
            raise FsirError(
                f"the response has only the value {different[0]!r}; a sample must show at least two classes"
            )
        return Slicing(
            classes=tuple(different)
        ), "every class that may occur: add those that the sample lacks"
    if not 2 <= slices <= 256:
        raise FsirError(f"--slices {slices}: between 2 and 256")
    cuts = np.unique([_short(cut) for cut in np.quantile(numbers, np.arange(1, slices) / slices)])
    return Slicing(
        cuts=tuple(cuts.tolist())
    ), f"quantiles of the sample: {len(cuts) + 1} equal slices"


def _write(
    args: argparse.Namespace, names: list[str], X: Matrix, slicing: Slicing, why: str
) -> str:
    found = standard(X)
    constant = [name for name, varies in zip(names, varying(X), strict=True) if not varies]
    C = min(_short(max(found.norm, 1e-3)), TRUNCATE * math.sqrt(len(names)))
    records = args.records
    if records is None:
        try:
            s_M = free_scales(C, mu_of(args.epsilon, DELTA) / args.unit_records)[0]
        except (FsirError, ZeroDivisionError):
            raise TaskError(
                "--epsilon", args.epsilon, "give a budget above 0 and unit records of at least 1"
            ) from None
        records = math.ceil(minimum_sample_size(s_M, TOLERATED) / 10) * 10
    name = (
        args.name
        or re.sub(r"[^A-Za-z0-9._-]+", "-", Path(args.sample).stem).strip("-._")[:64]
        or "task"
    )
    note = (
        f"# These are constant in the sample, so their scale is a guess: {_some(constant)}\n"
        if constant
        else ""
    )
    factor = _short(C / math.sqrt(len(names)) if len(names) > 1 else C)
    screening = _SCREENING.format(factor=factor) if len(names) > MANY_FEATURES else ""
    return _TEXT.format(
        name=_toml(name), names=_toml(names), centre=_toml([_short(v) for v in found.centre]), note=note,
        scale=_toml([_short(v) for v in found.scale]), response=_toml(args.response), slices=_line(slicing), why=why,
        truncate=TRUNCATE, norm=C, epsilon=float(args.epsilon), delta=DELTA, unit=args.unit_records, records=records,
        screening=screening, sample=len(X),
    )  # fmt: skip


def _line(slicing: Slicing) -> str:
    return (
        f"classes = {_toml(slicing.classes)}"
        if slicing.classes
        else f"cuts = {_toml(slicing.cuts)}"
    )


def _short(value: float) -> float:
    """Four digits: a public constant need not look more exact than it is."""
    return float(f"{value:.4g}")


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_TEXT = """\
# A task: the public contract of one federation. Devices read every line of this, and nobody can change it underneath
# them: a changed file is another task. Written from a public sample of {sample} records.
name = {name}
epoch = 1                # raise it to repeat the federation with fresh records
dimension = "auto"       # or the number of directions, if you know it
aggregation = "sum"      # exact; "trimmed" bounds what lying devices can do where anybody may join (docs/poisoning.md)

[features]
names = {names}
# A record's x enters as (x - centre) / scale. From public knowledge only: good centring makes records short, and short
# records need less noise.
centre = {centre}
{note}scale = {scale}

[response]
name = {response}        # the column or field that holds it
# {why}
{slices}

[clip]
truncate = {truncate}           # R: a standardised value is cut off here
# C: a longer record is scaled down to this length. All noise is proportional to it. Here: the median of the sample.
norm = {norm}

[privacy]
epsilon = {epsilon}            # of everything that a device sends for this task
delta = {delta}
mechanism = "gaussian"   # the proven one
unit_records = {unit}         # consecutive records that are protected together: count overlapping windows

[report]
# A device reports once, at exactly so many records. Enough for every class to occur on every device?
records = {records}
max_delay = 0.0          # it leaves after a random delay of up to so many seconds
presence = false
{screening}"""

_SCREENING = """
# Many features: a first report chooses the few that the second one is about.
[screening]
method = "dense"         # noisy sums of all features
records = "fresh"        # the second report is about later records: each stage has the whole budget
select = "per_slice"
keep = 3                 # features per slice
quorum = 10              # devices that must have reported before the active features are published ...
wait_seconds = 86400.0   # ... or so long after the first report
final_norm_factor = {factor}   # C of the second report: this times the square root of its number of features
"""
