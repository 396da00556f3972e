"""A task file without a public map, with comments for whoever edits it, from a public sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from aggregator.tasks.document import HEAD, document
from aggregator.tasks.sample import Sample, short
from aggregator.tasks.slices import Sliced
from aggregator.tasks.wishes import Wishes
from fsir.errors import some
from fsir.task.public_sample import TRUNCATE, standard, varying

MANY_FEATURES = 64  # beyond this a first report chooses some

_COMMENTS = {
    "features.centre": "A record's x enters as (x - centre) / scale. From public knowledge only: "
    "good centring makes records short, and short records need less noise.",
    "clip.truncate": "R: a standardised value is cut off here",
    "clip.norm": "C: a longer record is scaled down to this length. All noise is proportional to "
    "it. Here: the median of the sample.",
    "screening.method": 'noisy sums of all features; "votes": indices that the device computes '
    "from them",
    "screening.records": '"fresh": the second report is about later records, and each stage has '
    'the whole budget; "same": they share records and budget',
    "screening.keep": "features per slice, or overall",
    "screening.quorum": "devices that must have reported before the active features are published "
    "...",
    "screening.wait_seconds": "... or so long after the first report",
    "screening.final_norm_factor": "C of the second report: this times the square root of its "
    "number of features",
}
_SCREENING = "Many features: a first report chooses the few that the second one is about."
_VOTED = {"dense": "per_slice", "votes": "majority"}


def clip_of(sample: Sample) -> float:
    """The median length of a record."""
    p = len(sample.names)
    return min(short(max(standard(sample.X).norm, 1e-3)), TRUNCATE * math.sqrt(p))


def screening_of(p: int, asked: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """How a first report chooses features: as asked, or as usual if there are many; or not at all.

    `asked` is None if nobody has said anything, and empty for no screening.
    """
    if asked is None:
        asked = {"method": "dense"} if p > MANY_FEATURES else {}
    if not asked:
        return None
    usual = {
        "method": "dense",
        "records": "fresh",
        "select": _VOTED.get(asked.get("method", "dense"), "per_slice"),
        "keep": min(3, p),
        "quorum": 10,
        "wait_seconds": 86400.0,
    }
    return {**usual, **asked}


def draft(
    sample: Sample, sliced: Sliced, wishes: Wishes, screening: Mapping[str, Any] | None
) -> str:
    """A task file, in TOML."""
    constants = standard(sample.X)
    norm = clip_of(sample)
    sections = wishes.sections(sample.names, sliced)
    sections["features"] |= {
        "centre": [short(value) for value in constants.centre],
        "scale": [short(value) for value in constants.scale],
    }
    sections["clip"] = {"truncate": TRUNCATE, "norm": norm}
    if screening is not None:
        sections["screening"] = dict(screening)
        if "final_norm" not in screening:
            factor = short(norm / math.sqrt(len(sample.names)))
            sections["screening"].setdefault("final_norm_factor", factor)
    comments = wishes.comments(sliced) | _COMMENTS | _guessed_scales(sample)
    head = [HEAD.format(records=len(sample.X)), *sample.notes, *sample.remarks]
    return document(head, sections, comments, {"screening": [_SCREENING]})


def _guessed_scales(sample: Sample) -> dict[str, str]:
    varies = varying(sample.X)
    constant = [name for name, moves in zip(sample.names, varies, strict=True) if not moves]
    if not constant:
        return {}
    said = f"These are constant in the sample, so their scale is a guess: {some(constant)}"
    return {"features.scale": said}
