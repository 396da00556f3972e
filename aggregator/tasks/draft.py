"""A task file without a public map, with comments for whoever edits it, from a public sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aggregator.tasks.csv_table import some
from aggregator.tasks.sample import Sample, short
from aggregator.tasks.slices import Sliced
from aggregator.tasks.toml import toml
from fsir.errors import FsirError, TaskError
from fsir.privacy.accounting import free_scales, minimum_sample_size, mu_of
from fsir.task.public_sample import TRUNCATE, standard, varying
from fsir.task.slicing import Slicing

MANY_FEATURES = 64  # beyond this a first report chooses some
TOLERATED = 0.1  # noise of a slice mean, if the number of records is left to us
DELTA = 1e-6


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What a sample cannot tell."""

    name: str  # of the task
    response: str  # the column
    epsilon: float
    unit_records: int
    records: int | None  # per report; None: as many as keep the noise tolerable


def draft(sample: Sample, sliced: Sliced, wishes: Wishes) -> str:
    """A task file, in TOML."""
    constants = standard(sample.X)
    p = len(sample.names)
    norm = min(short(max(constants.norm, 1e-3)), TRUNCATE * math.sqrt(p))
    records = _records(norm, wishes) if wishes.records is None else wishes.records
    return _TEXT.format(
        sample=len(sample.X),
        name=toml(wishes.name),
        names=toml(sample.names),
        centre=toml([short(value) for value in constants.centre]),
        note=_note(sample),
        scale=toml([short(value) for value in constants.scale]),
        response=toml(wishes.response),
        why=sliced.why,
        slices=_slices(sliced.slicing),
        truncate=TRUNCATE,
        norm=norm,
        epsilon=float(wishes.epsilon),
        delta=DELTA,
        unit=wishes.unit_records,
        records=records,
        screening=_screening(norm, p),
    )


def _records(norm: float, wishes: Wishes) -> int:
    """As many as keep the noise tolerable, a multiple of ten."""
    try:
        mu = mu_of(wishes.epsilon, DELTA)
        sum_sd = free_scales(norm, mu / wishes.unit_records)[0]
    except (FsirError, ZeroDivisionError):
        raise TaskError(
            "--epsilon", wishes.epsilon, "give a budget above 0 and unit records of at least 1"
        ) from None
    return math.ceil(minimum_sample_size(sum_sd, TOLERATED) / 10) * 10


def _note(sample: Sample) -> str:
    varies = varying(sample.X)
    constant = [name for name, moves in zip(sample.names, varies, strict=True) if not moves]
    if not constant:
        return ""
    return f"# These are constant in the sample, so their scale is a guess: {some(constant)}\n"


def _slices(slicing: Slicing) -> str:
    if slicing.classes:
        return f"classes = {toml(slicing.classes)}"
    return f"cuts = {toml(slicing.cuts)}"


def _screening(norm: float, p: int) -> str:
    if p <= MANY_FEATURES:
        return ""
    return _SCREENING.format(factor=short(norm / math.sqrt(p)))


_TEXT = """\
# A task: the public contract of one federation. Devices read every line of this, and nobody can \
change it underneath
# them: a changed file is another task. Written from a public sample of {sample} records.
name = {name}
epoch = 1                # raise it to repeat the federation with fresh records
dimension = "auto"       # or the number of directions, if you know it
aggregation = "sum"      # exact; "trimmed" bounds what lying devices can do where anybody may \
join (docs/poisoning.md)

[features]
names = {names}
# A record's x enters as (x - centre) / scale. From public knowledge only: good centring makes \
records short, and short
# records need less noise.
centre = {centre}
{note}scale = {scale}

[response]
name = {response}        # the column or field that holds it
# {why}
{slices}

[clip]
truncate = {truncate}           # R: a standardised value is cut off here
# C: a longer record is scaled down to this length. All noise is proportional to it. Here: the \
median of the sample.
norm = {norm}

[privacy]
epsilon = {epsilon}            # of everything that a device sends for this task
delta = {delta}
mechanism = "gaussian"   # the proven one
unit_records = {unit}         # consecutive records that are protected together: count overlapping \
windows

[report]
# A device reports once, at exactly so many records. Enough for every class to occur on every \
device?
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
quorum = 10              # devices that must have reported before the active features are \
published ...
wait_seconds = 86400.0   # ... or so long after the first report
final_norm_factor = {factor}   # C of the second report: this times the square root of its number \
of features
"""
