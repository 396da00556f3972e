"""What the estimate would be worth with more devices, before they have reported.

What is estimated now is taken as the truth, and only the noise is that of the larger federation:
docs/estimate.md says what that leaves out, and how it has come true.
"""

from __future__ import annotations

from dataclasses import dataclass

from fsir.estimate.classifier import expected_of
from fsir.estimate.public.corrected import foreseen
from fsir.estimate.subspace import Fit, fit
from fsir.estimate.totals import Totals
from fsir.estimate.uncertainty import expected_loss
from fsir.task.task import Task


@dataclass(frozen=True)
class Forecast:
    """What to expect of so many devices."""

    devices: int
    expected_error: float
    expected_accuracy: float | None  # where the subspace itself would have one


def forecast(
    task: Task, totals: Totals, times: int = 2, found: Fit | None = None
) -> Forecast | None:
    """The expected error and accuracy with so many times as many devices like those so far.

    None where reports have not yet outweighed what is public. `found` is what `fit` has made of
    these totals, if that is known already.
    """
    devices = times * totals.devices
    if task.public is not None:
        seen = foreseen(task, task.public, totals, times)
        return None if seen is None else Forecast(devices, *seen)
    found = found or fit(task, totals)
    error = expected_loss(found.m, found.Sigma, found.white, found.d, times, found.repair)
    if found.classifier is None or found.pooled is None or not task.counts_refused:
        return Forecast(devices, error, None)
    prediction = expected_of(found.classifier, found.m, found.basis, found.pooled, times)
    return Forecast(devices, error, prediction.accuracy)
