"""A result in the order in which a person asks: what, how sure, at what cost, against what."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fsir.estimate.subspace import angles
from fsir.privacy.accounting import compose, epsilon_of
from fsir.privacy.claims import odds_factor, statement
from fsir.privacy.plan import final_stage, first_stage
from fsir.task.task import Task
from sim_devices.results.result import Result

_FEATURES_NAMED = 6


@dataclass(frozen=True)
class Section:
    """One question and its answers, line by line."""

    question: str
    lines: dict[str, str]


def story(result: Result) -> list[Section]:
    """All sections but the controls, which are a chart where there is room for one."""
    return [
        Section("What came out", _what(result)),
        Section("How sure is that?", _how_sure(result)),
        Section("What did it cost?", _cost(result)),
    ]


def _what(result: Result) -> dict[str, str]:
    s = result.outcome.subspace
    lines = {}
    unseen = len(result.scenario.population.unseen)
    if result.accuracy is not None:
        lines["accuracy"] = f"{percent(result.accuracy)} on {unseen} people who took no part"
    if result.explained is not None:
        whose = f"the response of {unseen} devices that took no part"
        lines["explained"] = f"{percent(result.explained)} of {whose}, by a line (R^2)"
    every = result.outcome.task.p
    kept = (
        f"{every} features"
        if len(s.features) == every
        else f"{len(s.features)} of {every} features"
    )
    named = f"{kept}: {', '.join(s.features)}" if len(s.features) <= _FEATURES_NAMED else kept
    ways = "1 direction" if s.dimension == 1 else f"{s.dimension} directions"
    lines["subspace"] = f"{ways} of {named}"
    return lines


def _how_sure(result: Result) -> dict[str, str]:
    s = result.outcome.subspace
    lines = {}
    if s.expected_accuracy is not None and result.accuracy is not None:
        expected = percent(s.expected_accuracy)
        true = percent(result.accuracy)
        lines["expected"] = f"{expected} right, said before anybody was tested; it was {true}"
    if result.judged is not None:
        said = percent(result.judged.confidence)
        lines["confidence"] = f"{said} on average; right in {percent(result.judged.accuracy)}"
    if result.error is not None:
        lines["standard error"] = _over_people(result, result.error)
    blind = f"0 is perfect, {result.yardstick:.2f} is what blindly drawn directions have"
    lines["expected error"] = f"{s.expected_error:.3f} ({blind})"
    if result.loss is not None:
        lines["true error"] = f"{result.loss:.3f}{_turned(result)}"
    return lines


def _over_people(result: Result, error: float) -> str:
    people = len(result.scenario.population.unseen)
    text = f"{100 * error:.1f} points of that, over {people} unseen people"
    if result.gain_error is None:
        return text
    return f"{text}; {100 * result.gain_error:.1f} of what is added"


def _turned(result: Result) -> str:
    """By how much the subspace is turned against the truth, where both have the same dimension."""
    subspace = result.outcome.subspace
    truth = result.scenario.truth
    if truth is None or subspace.dimension != truth.shape[1]:
        return ""
    return f", largest angle {float(np.max(angles(subspace.basis, truth))):.1f} degrees"


def _cost(result: Result) -> dict[str, str]:
    o = result.outcome
    s = o.subspace
    times = "once" if o.task.screening is None else "in two reports, once each"
    words = {"in words": _in_words(o.task)} if statement(o.task).proven else {}
    lines = {
        "privacy": _privacy(o.task, len(s.features)),
        **words,
        "sent per device": f"{o.bytes_per_device:.0f} bytes, {times}",
        "devices": f"{s.devices} counted of {o.devices} that came, {s.records} records, "
        f"{o.retries} retries",
    }
    if o.cuts or o.crashes:
        crashed = f"{o.crashes} devices crashed and came back"
        lines["on the way"] = f"{o.cuts} connections lost, {crashed}"
    return lines


def spent(task: Task, active: int) -> float:
    """Epsilon that a device has spent, from the costs of its stages: what its ledger says."""
    stages = [first_stage(task)]
    if task.screening is not None:
        stages.append(final_stage(task, tuple(range(active))))
    return epsilon_of(compose(*(stage.mu for stage in stages)), task.privacy.delta)


def _unit(task: Task) -> str:
    g = task.privacy.unit_records
    return "one record" if g == 1 else f"{g} consecutive records"


def _privacy(task: Task, active: int) -> str:
    known = statement(task)
    if not known.proven:
        return f"NOT PROVEN ({known.reason})"
    delta = f"{task.privacy.delta:.2g}"
    paid = f"epsilon {spent(task, active):.3f} spent at delta {delta}"
    return f"{paid} per {_unit(task)}, once and for all"


def _in_words(task: Task) -> str:
    factor = odds_factor(task)
    if not math.isfinite(factor):
        return "nothing can be promised about odds at so large an epsilon"
    # Never below the truth: rounded up to a hundredth.
    rounded = math.ceil(100 * factor) / 100
    seen = (
        "a report" if task.secure is None else "all that two aggregators open, one of them honest,"
    )
    return (
        f"whoever sees {seen} can raise the odds of a guess about {_unit(task)} "
        f"by a factor of at most {rounded:.2f}, except with probability {task.privacy.delta:.2g}"
    )


def percent(share: float) -> str:
    """A share as people read it.

    >>> percent(0.8751)
    '87.5%'
    """
    return f"{100 * share:.1f}%"
