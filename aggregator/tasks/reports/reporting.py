"""When devices report: after how many records, and until when.

A report is about exactly so many *offered* records, of which unlabelled and unreadable ones count
as null: a device that is never offered as many never reports, and one that is offered more leaves
the rest unused.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from fsir.errors import FsirError
from fsir.limits import MAX_RECORDS
from fsir.privacy.accounting import free_scales, minimum_sample_size, mu_of
from fsir.tables.files import why_closed

RECORDS = 300  # per report, if nobody says how many
TOLERATED = 0.1  # noise of a slice mean, in standardised units, if the records are left to us
_REPORTING = 2 / 3  # of the devices at least, by a proposed number of records
_EXAMPLE = "for example 300, or 120,300,450, or a file with one number for each device"


class Guess(NamedTuple):
    """A number of records that nobody has asked for, and where it comes from."""

    records: int
    why: str


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What somebody has said about the reports; None: nothing."""

    records: int | None = None
    per_device: str | None = None  # numbers, or the file that holds them
    sigma_0: float | None = None
    deadline: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Reports:
    """When devices report, and why then."""

    records: int | None  # None: the fewest that keep the noise below sigma_0
    why: str
    expected: int  # records of a device
    devices: int | None = None  # that will report, where each one's records are known
    sigma_0: float | None = None
    deadline: datetime | None = None


def planned(asked: Asked, guess: Guess, rounds: int = 1) -> Reports:
    """The reports of devices that send so many of them, each about other records."""
    counts = None if asked.per_device is None else counts_in(asked.per_device)
    if asked.deadline is not None:
        return _until(asked, counts, asked.deadline)
    if asked.sigma_0 is not None:
        if asked.records is not None or counts is not None:
            raise FsirError(
                f"--sigma-0 {asked.sigma_0:g}: says how many records a report is about, as "
                "--records and --records-per-device do; give one of them"
            )
        why = f"as many as keep the noise of a mean below {asked.sigma_0:g}, as you say"
        expected = guess.records
        return Reports(records=None, why=why, expected=expected, sigma_0=asked.sigma_0)
    if asked.records is not None:
        return _as_said(asked.records, counts, rounds)
    if counts is not None:
        return _proposed(counts, rounds)
    why = (
        f"A GUESS: {guess.records}, {guess.why}. A device that is offered fewer never reports: "
        "set it to what every device will have (--records N), or say what each one has "
        "(--records-per-device 120,300,450, or a file with one number for each)"
    )
    return Reports(records=guess.records, why=why, expected=guess.records)


def _as_said(records: int, counts: Sequence[int] | None, rounds: int) -> Reports:
    if counts is None:
        return Reports(records=records, why=f"{records}, as you say", expected=records)
    reach = _reach(counts, records, rounds)
    reaching = _reaching(counts, records, rounds)
    if not reaching:
        raise FsirError(
            f"--records {records}: {reach}, so that nobody would ever report; give at most "
            f"{max(counts) // rounds}"
        )
    return Reports(
        records=records,
        why=f"{records}, as you say; {reach}",
        expected=records,
        devices=reaching if len(counts) > 1 else None,
    )


def _proposed(counts: Sequence[int], rounds: int) -> Reports:
    records = least_noisy([count // rounds for count in counts])
    if records < 1:
        raise FsirError(
            f"--records-per-device: {_reach(counts, 1, rounds)}; give devices with more records"
        )
    rule = "of the numbers that two devices in three reach, the one that leaves the least noise"
    why = f"{_reach(counts, records, rounds)} ({rule})" if len(counts) > 1 else "what a device has"
    return Reports(
        records=records,
        why=f"{records}: {why}",
        expected=records,
        devices=_reaching(counts, records, rounds) if len(counts) > 1 else None,
    )


def least_noisy(counts: Sequence[int]) -> int:
    """Of the numbers that two devices in three reach, the one that leaves the least noise.

    Each report has the same noise, so that in the mean of k reports about n records its variance
    goes with 1 / (k n^2).

    >>> least_noisy([120, 300, 450]), least_noisy([100, 100, 5000])
    (300, 100)
    """
    falling = sorted(counts, reverse=True)
    fewest = math.ceil(_REPORTING * len(falling))
    told = {k: k * falling[k - 1] ** 2 for k in range(fewest, len(falling) + 1)}
    return falling[max(told, key=lambda k: (told[k], k)) - 1]


def _until(asked: Asked, counts: Sequence[int] | None, deadline: datetime) -> Reports:
    if asked.records is None and counts is None:
        raise FsirError(
            f"--deadline {deadline.isoformat()}: say by --records at most how many records a "
            "report may be about, or by --records-per-device how many each device has"
        )
    most = asked.records if asked.records is not None else max(counts or (0,))
    return Reports(
        records=most,
        why=f"at most {most}: with a deadline a device reports all that it was offered until then",
        expected=most if counts is None else min(most, int(statistics.median(counts))),
        devices=len(counts) if counts is not None and len(counts) > 1 else None,
        sigma_0=asked.sigma_0,
        deadline=deadline,
    )


def counts_in(text: str) -> list[int]:
    """Numbers of records, one for each device: as they stand there, or in the file of that name.

    >>> counts_in("120,300,450")
    [120, 300, 450]
    """
    numbers = _split(text)
    if not any(map(str.isdecimal, numbers)):
        path = Path(text)
        try:
            numbers = _split(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            why = why_closed(path, error) if isinstance(error, OSError) else "is no text"
            raise FsirError(
                f"--records-per-device {text}: no number, and as a file: {why}. Give {_EXAMPLE}"
            ) from None
    for number in numbers or [text]:
        if not number.isdecimal() or not 1 <= int(number) <= MAX_RECORDS:
            raise FsirError(
                f"--records-per-device {text}: {number[:40]!r} is no number of records from 1 to "
                f"{MAX_RECORDS}; give {_EXAMPLE}"
            )
    return [int(number) for number in numbers]


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"[\s,;]+", text) if part]


def _reaching(counts: Sequence[int], records: int, rounds: int) -> int:
    return sum(count >= rounds * records for count in counts)


def _reach(counts: Sequence[int], records: int, rounds: int) -> str:
    """How many of the devices will report, in words."""
    twice = "" if rounds == 1 else f" for each of {rounds} reports"
    reaching = _reaching(counts, records, rounds)
    return f"{reaching} of the {len(counts)} listed devices have as many{twice}"


def fewest_records(norm: float, budget: tuple[float, float, int], share: float) -> int:
    """As many as keep the noise of a mean tolerable, of a slice with this share of the records.

    The budget is epsilon, delta, and the records protected together; the answer is a multiple of
    ten.
    """
    epsilon, delta, unit_records = budget
    try:
        sum_sd = free_scales(norm, mu_of(epsilon, delta) / unit_records)[0]
        fewest = minimum_sample_size(sum_sd / share, TOLERATED)
    except (ArithmeticError, ValueError):
        raise FsirError(
            f"--epsilon {epsilon:g}: the noise would drown any sum; give a larger budget"
        ) from None
    return min(math.ceil(fewest / 10) * 10, MAX_RECORDS)
