"""What the budget of a task pays for, after the sampler's own error has been taken out of it."""

from __future__ import annotations

import math
from functools import lru_cache

from fsir.errors import TaskError
from fsir.privacy import accounting
from fsir.privacy.noise import (
    FAR_MASS,
    RELATIVE_ERROR,
    RESOLUTION,
    RESOLUTION_OF_SHARED,
    sampling_error,
    values_charged,
)
from fsir.privacy.rounds.factorisation import factorisation_of
from fsir.privacy.rounds.shared import weight_of
from fsir.task.task import Task


def sampling_charge(values: int, epsilon: float) -> tuple[float, float]:
    """What the sampler's error takes from (epsilon, delta) for so many values (lemma 3)."""
    far = math.exp(min(epsilon, 700.0)) * FAR_MASS
    return values * RELATIVE_ERROR, values * (sampling_error(2.0 * RESOLUTION) + far)


def published_values(task: Task) -> int:
    """The most values that a device publishes about one unit, in all stages together.

    Those of rounds count as docs/privacy.md, lemmas 14 and 17, have it.
    """
    H = task.slicing.count
    last = task.numbers if task.screening is None else task.screening.limit
    first = 0 if task.screening is None else task.p * H + H
    final = last * H + H + last * (last + 1) // 2
    return first + final * _rounds_touched(task)


def _rounds_touched(task: Task) -> int:
    """Rounds whose values matter to one unit, in terms of single reports."""
    if task.correlates_noise:
        cohort = None if task.secure is None else task.secure.cohort
        return task.rounds * weight_of(factorisation_of(task), cohort)
    across = math.ceil((task.privacy.unit_records - 1) / (task.report.records or 1))
    return min(task.rounds, 1 + across)


def draws(cohort: int | None) -> int:
    """How many values the sampler is charged for behind one published number.

    Of a sum that two aggregators open, those are the device's own noise and that of the honest one,
    which is `sqrt(cohort)` times as large (docs/privacy.md, theorem 15).
    """
    if cohort is None:
        return 1
    return 1 + values_charged(2.0 * RESOLUTION_OF_SHARED * math.sqrt(cohort))


def drawn_values(task: Task) -> int:
    """The most values that the sampler is charged for, in all stages together."""
    cohort = None if task.secure is None else task.secure.cohort
    return published_values(task) * draws(cohort)


@lru_cache(maxsize=1024)  # most rounds leave the total as it was
def epsilon_drawn(mu: float, values: int, delta: float) -> float:
    """The epsilon, at `delta`, of releases that cost `mu` and were drawn as so many values."""
    epsilon = 0.0
    before = -1.0
    while before < epsilon < math.inf:  # what the sampler takes of delta grows with epsilon
        taken, lost = sampling_charge(values, epsilon)
        before = epsilon
        epsilon = accounting.epsilon_of(mu, delta - lost) + taken if lost < delta else math.inf
    return epsilon


def total_mu(task: Task) -> float:
    """The cost that the whole budget of the task pays for."""
    privacy = task.privacy
    values = drawn_values(task)
    epsilon, delta = sampling_charge(values, privacy.epsilon)
    if delta >= privacy.delta / 2 or epsilon >= privacy.epsilon / 2:
        raise _eaten_up(task, values, epsilon, delta)
    return accounting.mu_of(privacy.epsilon - epsilon, privacy.delta - delta)


def _eaten_up(task: Task, values: int, epsilon: float, delta: float) -> TaskError:
    """The error for a budget of which the sampler's error would take most."""
    privacy = task.privacy
    said = (
        f"the sampler's error in {values} values takes "
        f"{epsilon:.1e} of epsilon and {delta:.1e} of delta"
    )
    if privacy.epsilon > 20:
        return TaskError("privacy.epsilon", privacy.epsilon, f"{said}; choose a smaller one")
    if epsilon >= privacy.epsilon / 2:
        return TaskError("privacy.epsilon", privacy.epsilon, f"{said}; choose a larger one")
    return TaskError("privacy.delta", privacy.delta, f"{said}; raise delta or screen")
