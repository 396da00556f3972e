"""`--trust` and `--cohort`: who sees the reports of a simulated federation."""

from __future__ import annotations

import argparse

from fsir.errors import FsirError
from fsir.net.installed import require
from sim_devices.commands.options import positive

LOCAL = "local"
SECURE = "secure"


def add_whom(parser: argparse.ArgumentParser) -> None:
    """Whom one trusts."""
    parser.add_argument(
        "--trust",
        choices=[LOCAL, SECURE],
        default=LOCAL,
        help="local: nobody, each device adds all of its noise (default); secure: that one of two "
        "aggregators is honest, who open sums alone",
    )


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Whom one trusts, and with how many devices together."""
    add_whom(parser)
    parser.add_argument(
        "--cohort",
        type=positive,
        metavar="N",
        help="with --trust secure, over how many devices a sum is opened at least (default: all, "
        "and 20 of more)",
    )


def is_secure(options: argparse.Namespace) -> bool:
    """Whether two aggregators are asked for, who then must be able to seal."""
    if options.trust == SECURE:
        require("cryptography")
    return bool(options.trust == SECURE)


def cohort_of(options: argparse.Namespace, devices: int, *, absent: float = 0.0) -> int | None:
    """How many devices a sum has at least; None where nobody opens sums."""
    if not is_secure(options):
        if options.cohort is not None:
            raise FsirError(
                f"--cohort {options.cohort}: with local noise no sums are opened; add --trust "
                "secure, or leave it out"
            )
        return None
    if options.cohort is not None:
        return min(int(options.cohort), devices)
    if absent > 0.0:
        raise FsirError(
            f"--absent {absent:g}: some never come, and a sum over all {devices} would never be "
            "opened; say by --cohort how many come at least"
        )
    from sim_devices.scenarios.tasks import COHORT  # which takes its time

    return min(COHORT, devices)
