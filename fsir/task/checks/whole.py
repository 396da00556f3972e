"""The checks that stand between a table (a TOML file, a message) and a `Task`, field by field.

Whether the task as a whole is possible, its noise included, `fsir.contract` finds out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fsir.errors import TaskError
from fsir.fields import Table
from fsir.limits import MAX_DELTA, MAX_EPSILON, MAX_FEATURES, MAX_RECORDS, MAX_ROUNDS, MAX_SLICES
from fsir.task.checks.grid import FEWEST_BITS, MOST_BITS, check_grid
from fsir.task.checks.rounds import check_rounds, read_estimate
from fsir.task.checks.secure import check_secure, read_secure
from fsir.task.secure import Secure
from fsir.task.task import (
    MECHANISMS,
    NEWEST_VERSION,
    NOISES,
    OLDEST_VERSION,
    SECURE,
    TRIMMED,
    Clip,
    Features,
    Privacy,
    Reporting,
    Response,
    Screening,
    Task,
)

if TYPE_CHECKING:
    from fsir.task.public_map import Public

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_LONGEST_DELAY_SECONDS = 7 * 86400
_LONGEST_PERIOD_SECONDS = 366 * 86400
_NOT = {  # why reports of votes cannot be put together so
    TRIMMED: "not trimmed, and few liars decide them",
    SECURE: "and what is opened are sums of noisy numbers",
}


def read_task(table: Mapping[str, Any]) -> Task:
    """Check plain tables field by field and build the task.

    The first fault found is raised as a `TaskError`.
    """
    top = Table(table, "")
    name = _name(top)
    features = _features(top.section("features"))
    response = _response(top.section("response"))
    clip = _clip(top.section("clip"), None if top.has("public") else features)
    privacy = _privacy(top.section("privacy"))
    report = _reporting(top.section("report"))
    screening = None
    if top.has("screening"):
        screening = _screening(top.section("screening"), features, response)
    public = _public(top, features, response, clip)
    task = Task(
        name=name,
        features=features,
        response=response,
        clip=clip,
        privacy=privacy,
        report=report,
        screening=screening,
        public=public,
        estimate=read_estimate(top.section("estimate")) if top.has("estimate") else None,
        dimension=_dimension(top, features, response, public),
        aggregation=_aggregation(top, report, screening),
        secure=_secure(top),
        epoch=top.whole("epoch", 1, low=1),
        version=top.whole("version", NEWEST_VERSION, low=OLDEST_VERSION, high=NEWEST_VERSION),
    )
    top.done()
    if public is not None:
        from fsir.task.checks.public import check_around

        check_around(task, public)
    check_grid(task)
    check_secure(task)
    _check_split(task)
    check_rounds(task)
    return task


def _name(top: Table) -> str:
    name = top.text("name")
    if not _NAME.match(name):
        raise top.error("name", name, "use 1 to 64 letters, digits, '.', '_' or '-'")
    return name


def _features(part: Table) -> Features:
    names = _feature_names(part)
    centre = part.numbers("centre", 0.0, len(names))
    scale = part.numbers("scale", 1.0, len(names))
    # Far inside of what a float holds, so that no record makes an infinity or a NaN.
    if not 1e-100 <= min(scale) <= max(scale) <= 1e100:
        remedy = "every scale must lie between 1e-100 and 1e100"
        raise part.error("scale", (min(scale), max(scale)), remedy)
    if (farthest := max(map(abs, centre))) > 1e100:
        raise part.error("centre", farthest, "every centre must lie between -1e100 and 1e100")
    part.done()
    return Features(names, centre, scale)


def _feature_names(part: Table) -> tuple[str, ...]:
    names = part.texts("names", at_most=MAX_FEATURES)
    if not names:
        raise part.error("names", names, "name at least one feature")
    if len(set(names)) < len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise part.error("names", twice[:3], "feature names must be unique; rename these")
    return names


def _response(part: Table) -> Response:
    response = Response(
        part.text("name", "y"),
        part.texts("classes", (), at_most=MAX_SLICES),
        part.numbers("cuts", (), at_most=MAX_SLICES - 1),
    )
    part.done()
    classes = response.classes
    if bool(classes) == bool(response.cuts):
        remedy = "give either classes (two or more labels) or cuts (numbers)"
        raise part.error("classes", classes, remedy)
    if len(classes) == 1 or len(set(classes)) < len(classes):
        raise part.error("classes", classes, "give two or more different labels")
    if any(a >= b for a, b in pairwise(response.cuts)):
        raise part.error("cuts", response.cuts, "cut points must increase strictly")
    return response


def _clip(part: Table, features: Features | None) -> Clip:
    """Clips of records with these features, or of mapped ones, which may be longer."""
    clip = Clip(
        truncate=part.number("truncate", least=1e-6, to=1e6),
        norm=part.number("norm", least=1e-6, to=1e9),
        bits=part.optional_whole("bits", low=FEWEST_BITS, high=MOST_BITS),
    )
    part.done()
    if features is None:
        return clip
    widest = clip.truncate * len(features.names) ** 0.5
    if clip.norm > widest * (1 + 1e-9):
        remedy = f"no record can be longer than R sqrt(p) = {widest:.6g}; lower it"
        raise TaskError("clip.norm", clip.norm, remedy)
    return clip


def _privacy(part: Table) -> Privacy:
    privacy = Privacy(
        epsilon=part.number("epsilon", above=0, to=MAX_EPSILON),
        delta=part.number("delta", 1e-6, above=0, to=MAX_DELTA),
        mechanism=part.choice("mechanism", "gaussian", MECHANISMS),
        unit_records=part.whole("unit_records", 1, low=1, high=100_000),
        split=part.optional_number("split", least=0.05, to=2),
        noise=part.choice("noise", None, NOISES) if part.has("noise") else None,
    )
    part.done()
    return privacy


def _check_split(task: Task) -> None:
    split = task.privacy.split
    if split is None:
        return
    if task.privacy.mechanism != "gaussian":
        remedy = f"{task.privacy.mechanism!r} has no such choice; leave it out, or use 'gaussian'"
        raise TaskError("privacy.split", split, remedy)
    if task.version == OLDEST_VERSION:
        raise TaskError("privacy.split", split, "tasks of version 1 do not have it; leave it out")


def _reporting(part: Table) -> Reporting:
    report = Reporting(
        records=part.optional_whole("records", low=1, high=MAX_RECORDS),
        sigma_0=part.optional_number("sigma_0", least=1e-12, to=1e12),
        deadline=part.optional_instant("deadline"),
        max_delay=part.number("max_delay", 0.0, least=0, to=_LONGEST_DELAY_SECONDS),
        presence=part.flag("presence", False),
        rounds=_several(part.whole("rounds", 1, low=1, high=MAX_ROUNDS)),
        every=part.optional_number("every", above=0, to=_LONGEST_PERIOD_SECONDS),
        start=part.optional_instant("start"),
    )
    part.done()
    _check_when(part, report)
    return report


def _several(rounds: int) -> int | None:
    # One round is what tasks have that say nothing: it must be the same bytes.
    return rounds if rounds > 1 else None


def _check_when(part: Table, report: Reporting) -> None:
    by_deadline = report.deadline is not None
    if report.records is None and report.sigma_0 is None and not by_deadline:
        remedy = "say when to report: records, sigma_0 (tolerated noise) or deadline"
        raise part.error("records", None, remedy)
    if not by_deadline and report.records is not None and report.sigma_0 is not None:
        raise part.error("sigma_0", report.sigma_0, "give records or sigma_0, not both")
    if by_deadline and report.records is None:
        # A report weighs as much as the records that it claims: without a limit a single liar is
        # the federation.
        remedy = "with a deadline say at most how many records a report may be about"
        raise part.error("records", None, remedy)


def _screening(part: Table, features: Features, response: Response) -> Screening:
    p = len(features.names)
    method = part.choice("method", "dense", ("dense", "votes"))
    selections = ("majority",) if method == "votes" else ("per_slice", "overall", "significant")
    codes = ("slices", "simplex") if response.classes else ("slices", "circle")
    screening = Screening(
        method=method,
        records=part.choice("records", "same", ("same", "fresh")),
        share=part.number("share", 0.5, above=0, below=1),
        select=part.choice("select", selections[0], selections),
        keep=part.whole("keep", 3, low=1, high=p),
        limit=part.whole("limit", min(64, p), low=1, high=p),
        threshold=part.number("threshold", 0.0, least=0),
        code=part.choice("code", "slices", codes),
        quorum=part.whole("quorum", 1, low=1),
        wait_seconds=part.number("wait_seconds", 0.0, least=0),
        final_norm=part.optional_number("final_norm", least=1e-6, to=1e9),
        final_norm_factor=part.optional_number("final_norm_factor", least=1e-6, to=1e6),
    )
    part.done()
    _check_screening(part, screening)
    return screening


def _check_screening(part: Table, screening: Screening) -> None:
    if (screening.final_norm is None) == (screening.final_norm_factor is None):
        remedy = "give final_norm or final_norm_factor, one of the two"
        raise part.error("final_norm", screening.final_norm, remedy)
    if screening.method != "votes":
        return
    if screening.threshold <= 0.0:
        remedy = "votes need a threshold above 0 on the slice means"
        raise part.error("threshold", screening.threshold, remedy)
    if screening.code != "slices":
        raise part.error("code", screening.code, "votes are cast per slice; use code = 'slices'")


def _public(top: Table, features: Features, response: Response, clip: Clip) -> Public | None:
    if not top.has("public"):
        return None
    from fsir.task.checks.public import read_public

    return read_public(top.section("public"), len(features.names), _slices(response), clip.truncate)


def _slices(response: Response) -> int:
    return len(response.classes) or len(response.cuts) + 1


def _dimension(
    top: Table, features: Features, response: Response, public: Public | None
) -> int | None:
    value = top.get("dimension", "auto")
    if value == "auto":
        return None
    coordinates = len(features.names) if public is None else public.coordinates
    return top.as_whole("dimension", value, 1, min(coordinates, _slices(response) - 1))


def _aggregation(top: Table, report: Reporting, screening: Screening | None) -> str | None:
    aggregation = top.choice("aggregation", "sum", ("sum", TRIMMED, SECURE))
    if aggregation == "sum":
        return None
    if report.deadline is not None:
        remedy = (
            "compares reports about equally many records; leave out report.deadline, or use 'sum'"
        )
        raise top.error("aggregation", aggregation, remedy)
    if screening is not None and screening.method == "votes":
        remedy = f"votes are counted, {_NOT[aggregation]}; use screening.method = 'dense', or 'sum'"
        raise top.error("aggregation", aggregation, remedy)
    return aggregation


def _secure(top: Table) -> Secure | None:
    return read_secure(top.section("secure")) if top.has("secure") else None
