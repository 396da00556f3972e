"""What was asked for on the command line, as the setting of a task."""

from __future__ import annotations

from argparse import Namespace

from fsir.errors import FsirError
from sim_devices.commands.trust import cohort_of
from sim_devices.scenarios.tasks import Setting

SAFE_DELTA = 1e-6
SHAREABLE = ("gaussian", "none")  # mechanisms that two aggregators can open sums of


def delta_of(options: Namespace) -> float | None:
    """The delta that was asked for; None for the paper's."""
    if options.delta is None:
        return SAFE_DELTA
    if options.delta == "paper":
        return None
    try:
        return float(options.delta)
    except ValueError:
        raise FsirError(
            f"--delta {options.delta!r}: give a number such as 1e-6, or `paper` for n^-1.1"
        ) from None


def setting_of(
    options: Namespace, devices: int, delta: float | None, mechanism: str, dimension: int | None
) -> Setting:
    """For so many devices."""
    cohort = cohort_of(options, devices, absent=options.absent)
    return Setting(
        epsilon=options.epsilon,
        delta=delta,
        unit_records=options.unit_records,
        mechanism=mechanism,
        dimension=dimension,
        cohort=cohort if mechanism in SHAREABLE else None,  # --compare shows others beside it
    )
