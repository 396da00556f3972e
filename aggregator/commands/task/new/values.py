"""What the options of `fsir-aggregator task new` say, as values; and what cannot be said."""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path
from typing import Any

from aggregator.commands.task.new.options import AGGREGATIONS
from aggregator.commands.task.new.trust import check_trust, secure_of
from aggregator.tasks.reports.deadlines import instant, refuse_past
from aggregator.tasks.reports.reporting import Asked, Reports
from aggregator.tasks.reports.rounds import Rounds, memory_in
from aggregator.tasks.slices import Wanted
from aggregator.tasks.wishes import PROVEN, Wishes
from fsir.errors import FsirError, meant
from fsir.limits import MAX_DELTA, MAX_EPSILON
from fsir.task.task import Screening

OFF = "off"


def check(args: argparse.Namespace) -> None:
    """Refuse numbers that mean nothing, and options that would be ignored."""
    for option in ("devices", "records", "rounds", "unit_records", "coordinates", "epoch"):
        value = getattr(args, option)
        if value is not None and value < 1:
            raise FsirError(
                f"--{option.replace('_', '-')} {value}: give a whole number of at least 1"
            )
    for option, above, most in (("epsilon", 0.0, MAX_EPSILON), ("delta", 0.0, MAX_DELTA)):
        number = getattr(args, option)
        if not above < number <= most:
            raise FsirError(
                f"--{option} {number:g}: give a number above {above:g} and at most {most:g}"
            )
    check_trust(args)
    said = [f"--{name}" for name in ("classes", "slices", "cuts") if getattr(args, name)]
    if len(said) > 1:
        raise FsirError(f"{' and '.join(said)}: the response has one kind of slices; give one")
    if args.plain and args.coordinates is not None:
        raise FsirError(
            f"--coordinates {args.coordinates}: there is no map with --plain; leave one of them out"
        )
    if not args.plain:
        _check_mapped(args)


def _check_mapped(args: argparse.Namespace) -> None:
    if args.screening is not None:
        raise FsirError(
            f"--screening {args.screening}: a task with a public map asks for one report; "
            "add --plain"
        )
    if args.mechanism not in (PROVEN, "none"):
        raise FsirError(
            f"--mechanism {args.mechanism}: a task with a public map has {PROVEN} or none; "
            "add --plain"
        )
    if args.sigma_0 is not None and args.deadline is None:
        raise FsirError(
            f"--sigma-0 {args.sigma_0:g}: the rehearsal plays a number of records; "
            "give --records, or add --plain"
        )


def slices_of(args: argparse.Namespace) -> Wanted:
    """What was said about the slices of the response."""
    return Wanted(classes=args.classes, slices=args.slices, cuts=_cuts(args.cuts))


def asked_of(args: argparse.Namespace) -> Asked:
    """What was said about the reports."""
    deadline = None if args.deadline is None else instant(args.deadline)
    if deadline is not None:
        refuse_past("--deadline", int(deadline.timestamp()), time.time())
    return Asked(
        records=args.records,
        per_device=args.records_per_device,
        sigma_0=args.sigma_0,
        deadline=deadline,
    )


def wishes_of(args: argparse.Namespace, reports: Reports) -> Wishes:
    """What was said about everything else."""
    return Wishes(
        name=args.name or _name(Path(args.sample)),
        response=args.response,
        reports=reports,
        epsilon=args.epsilon,
        delta=args.delta,
        mechanism=args.mechanism,
        unit_records=args.unit_records,
        epoch=args.epoch,
        dimension=_dimension(args.dimension),
        aggregation=AGGREGATIONS[args.aggregation],
        secure=secure_of(args),
        max_delay=args.max_delay,
        presence=args.presence,
        rounds=_rounds(args),
    )


def _rounds(args: argparse.Namespace) -> Rounds:
    memory, span = (None, None) if args.memory is None else memory_in(args.memory)
    return Rounds(
        count=args.rounds,
        every=args.every,
        start=None if args.start is None else instant(args.start),
        noise=args.noise,
        memory=memory,
        span=span,
    )


def _cuts(text: str | None) -> tuple[float, ...]:
    """Cut points.

    >>> _cuts("-1,2.5"), _cuts(None)
    ((-1.0, 2.5), ())
    """
    if text is None:
        return ()
    try:
        cuts = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise FsirError(f"--cuts {text}: give numbers, for example --cuts=-1,0,2.5") from None
    return cuts


def _dimension(text: str) -> int | None:
    """A number of directions; None for `auto`."""
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise FsirError(f"--dimension {text}: give the number of directions, or auto")
    return int(text)


def screening_fields(text: str | None) -> dict[str, Any] | None:
    """The fields of `[screening]`; None if nothing was said, and none for `off`.

    >>> screening_fields("votes,threshold=0.2,quorum=20")
    {'method': 'votes', 'threshold': 0.2, 'quorum': 20}
    """
    if text is None or text == OFF:
        return None if text is None else {}
    method, *rest = text.split(",")
    fields: dict[str, Any] = {"method": method}
    if method not in ("dense", "votes"):
        raise FsirError(f"--screening {text}: begin with dense or votes, or say off")
    for part in rest:
        key, equals, value = part.partition("=")
        if key not in Screening._fields or not equals:
            close = meant(key, Screening._fields)
            hint = f"did you mean {close}=...?" if close else "write FIELD=VALUE, see docs/task.md"
            raise FsirError(f"--screening {part!r}: no such field; {hint}")
        fields[key] = _value(value)
    return fields


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _name(path: Path) -> str:
    """A name for a task, from that of its sample.

    >>> _name(Path("my public sample (2).csv"))
    'my-public-sample-2'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._")[:64] or "task"
