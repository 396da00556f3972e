"""What a task asks of a device, in plain words."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from fsir.privacy import accounting
from fsir.privacy.claims import odds_factor, promises, statement, total_cost
from fsir.privacy.plan import FINAL, Stage, all_stages, minimum_size, report_size
from fsir.privacy.rounds.words import rounds_in_words, told_by_rounds
from fsir.task.public_map import Public
from fsir.task.secure import Secure
from fsir.task.task import TRIMMED, Task

_ONCE = "Each is sent once; a retry repeats the same bytes."
_ONCE_A_ROUND = "Each is sent once in a round; a retry repeats the same bytes."
_TRIMMING = (
    "In every number the lowest and the highest quarter of all reports do not count, "
    "which bounds what a lying device\n"
    "  can do. That happens after the reports have arrived: "
    "it changes nothing about what this device gives away."
)

_CHECK = (
    "The check is one more number of each record, which is added up like the others: "
    "whether the public rule names its\n"
    "  class rightly, that is, whether of all public means the one of its own class is nearest."
)


def describe(task: Task) -> str:
    """A page for the owner of a device: what leaves it, when, and how well it is protected.

    Parameters
    ----------
    task
        The task that the owner is asked to take part in.

    Returns
    -------
    str
        Plain text of about fifteen lines.

    Examples
    --------
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 2, "norm": 2.5},
    ...     "privacy": {"epsilon": 1},
    ...     "report": {"records": 100},
    ... })
    >>> print("\\n".join(fsir.describe(task).splitlines()[4:8]))
    What would leave the device:
      1. final report: 9 noisy numbers (sums per slice, counts and second moments of all 2 features)
      Each is sent once; a retry repeats the same bytes.
      It leaves when 100 records have been offered. One that cannot be used counts as empty.
    """
    return "\n".join(
        [
            f"Task {task.name!r}, epoch {task.epoch}, digest {task.digest.hex()[:16]}",
            "",
            f"What is learned: which combinations of {task.p} features explain "
            f"{task.response.name!r} ({_slices(task)}).",
            "",
            "What would leave the device:",
            *(f"  {line}" for line in _leaving(task)),
            "",
            "How it is protected:",
            *(f"  {line}" for line in _protection(task)),
        ]
    )


def reports(task: Task) -> list[str]:
    """What leaves the device in each report of a task, one line each."""
    return [_stage(task, stage) for stage in all_stages(task)]


def _leaving(task: Task) -> list[str]:
    stages = [f"{k}. {report}" for k, report in enumerate(reports(task), 1)]
    presence = "Presence messages tell when the device is on."
    return [
        *stages,
        _ONCE if task.rounds == 1 else _ONCE_A_ROUND,
        *([] if task.public is None else _mapping(task, task.public)),
        _when(task),
        *rounds_in_words(task),
        presence if task.report.presence else "No presence messages.",
        "No record, time stamp or count of refused records is part of a report.",
        *([_counted(task)] if task.report.deadline is not None else []),
        *([_TRIMMING] if task.aggregation == TRIMMED else []),
        *([] if task.secure is None else _sharing(task.secure)),
    ]


def _sharing(secure: Secure) -> list[str]:
    lines = [
        f"It goes to {secure.leader.name!r} and {secure.helper.name!r} in two sealed shares, one "
        "for each, of which one alone says nothing.",
        f"Together they open sums over at least {secure.cohort} devices, each with noise of both, "
        "and every report once.",
    ]
    if secure.groups > 1:
        lines.append(
            f"Devices are in {secure.groups} groups by their names, each opened by itself. "
            "In every number a third of the\n"
            "  groups on either side does not count, which bounds what a lying device can do."
        )
    return lines


def _slices(task: Task) -> str:
    if task.response.classes:
        return f"{len(task.response.classes)} classes: {', '.join(task.response.classes)}"
    return f"a number, in {len(task.response.cuts) + 1} intervals"


def _stage(task: Task, stage: Stage) -> str:
    values = sum(stage.sizes)
    if stage.name == FINAL:
        content = f"sums per slice, counts and second moments of {_summed(task, stage)}"
        return f"final report: {values} noisy numbers ({content})"
    if task.screens_by_votes:
        sums = f"{values} noisy sums computed on the device"
        return f"screening report: names of features that stand out of {sums}"
    content = "coded sums" if stage.code else "sums per slice, and counts,"
    return f"screening report: {values} noisy numbers ({content} of all {stage.p} features)"


def _summed(task: Task, stage: Stage) -> str:
    """What a final report is about, of each record."""
    if task.screening is not None:
        return f"at most {stage.p} active features"
    check = " and a check" if task.numbers > task.coordinates else ""
    if task.public is not None and task.public.map is not None:
        return f"{task.coordinates} mapped numbers{check}"
    return f"all {task.coordinates} features{check}"


def _mapping(task: Task, public: Public) -> list[str]:
    own = "class" if task.response.classes else "interval"
    constants = "are public constants, part of the task and the same for everybody."
    if public.map is None:
        turned = f"the public mean of its own {own} is taken away from each record."
        made = f"The means come from {public.records} public records: they {constants}"
    else:
        turned = (
            f"each record is turned into {public.coordinates} numbers by a public map, minus the "
            f"public mean of its own {own}."
        )
        made = f"Both come from {public.records} public records: they {constants}"
    return [
        f"Before anything is added up, {turned}",
        f"{made} A record is mapped alone.",
        *([] if public.check is None else [_CHECK]),
    ]


def _when(task: Task) -> str:
    delay = ""
    if task.report.max_delay:
        delay = f", after a random delay of up to {task.report.max_delay:g} s"
    seen = "offered" if task.counts_refused else "accepted"
    empty = " One that cannot be used counts as empty." if task.counts_refused else ""
    if task.report.deadline is None:
        return f"It leaves when {report_size(task)} records have been {seen}{delay}.{empty}"
    deadline = datetime.fromtimestamp(task.report.deadline, UTC).isoformat()
    size = f"at least {minimum_size(task)}, at most {report_size(task)}"
    return f"It leaves at {deadline}, with the records {seen} until then ({size}){delay}.{empty}"


def _counted(task: Task) -> str:
    told = "so many came, whatever was in them."
    if not task.counts_refused:
        told = "so many had a response as above, and numbers in all features."
    return f"The number of records is part of it WITHOUT NOISE: {told}"


def _protection(task: Task) -> list[str]:
    known = statement(task)
    g = task.privacy.unit_records
    unit = "one record" if g == 1 else f"any {g} consecutive records"
    budget = f"epsilon {task.privacy.epsilon:g} at delta {task.privacy.delta:g}"
    if not known.proven:
        return [
            f"NOT PROVEN: {known.reason}.",
            f"The task claims {budget} per {unit}; do not rely on it.",
            "Do not take part with data that matter.",
        ]
    empty = " (empty is one of them)" if task.counts_refused else ""
    seen = "all reports" if task.secure is None else "all that is opened"
    return [
        f"Total {budget} for everything above, per {unit}.",
        *([] if task.secure is None else _promised(task)),
        f"Take any two contents of {unit}{empty}. Whoever sees {seen}, and knows everything",
        f"else, can raise the odds of the true one by a factor of at most "
        f"{rounded_up(odds_factor(task))} (by the Gaussian numbers as",
        f"they were before rounding, {rounded_up(_unrounded(task))}), "
        f"except with probability {task.privacy.delta:g}.",
        f"Proven: {known.reason}.",
        *told_by_rounds(task),
        *_not_protected(task),
        "It does not hide what the device's data are like on the whole, or that it takes part.",
    ]


def _promised(task: Task) -> list[str]:
    """The three promises of two aggregators, by who is hostile."""
    honest, both, network = promises(task)
    return [
        f"Against {honest.against}: epsilon {honest.epsilon:g}.",
        f"Against {both.against}: epsilon {rounded_up(both.epsilon)}, by the noise of this device "
        "alone.",
        f"Against {network.against}: epsilon {network.epsilon:g}; they see sealed bytes of a fixed "
        "length, and that they came.",
    ]


def _not_protected(task: Task) -> list[str]:
    if task.report.deadline is not None:
        return ["NOT PROTECTED is the number of records."]
    if task.counts_refused:
        return []
    return [
        "NOT PROTECTED is which records are refused: the report waits for others in their place."
    ]


def _unrounded(task: Task) -> float:
    return accounting.odds_factor(total_cost(task), task.privacy.delta)


def rounded_up(factor: float) -> str:
    """A factor of odds or an epsilon, in three digits and not below the truth.

    >>> rounded_up(0.0), rounded_up(0.7), rounded_up(1.8101), rounded_up(math.inf)
    ('0', '0.7', '1.82', 'infinity')
    """
    if factor == math.inf:
        return "infinity"
    if float(nearest := f"{factor:.3g}") >= factor:
        return nearest
    digit = 10.0 ** (math.floor(math.log10(factor)) - 2)
    return f"{math.ceil(factor / digit) * digit:.6g}"
