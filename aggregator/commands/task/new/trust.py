"""Whom devices must trust: the options of `task new` about two aggregators."""

from __future__ import annotations

import argparse

from aggregator.commands.task.new.options import COHORT, LOCAL
from fsir.errors import FsirError
from fsir.task.secure import ROLES, Party, Secure, public_half


def check_trust(args: argparse.Namespace) -> None:
    """Refuse two aggregators that are not two, and what is said about them where there are none."""
    said = [f"--{role}" for role in ROLES if getattr(args, role) is not None]
    said += ["--cohort"] if args.cohort is not None else []
    said += ["--groups"] if args.groups != 1 else []
    if args.trust == LOCAL:
        if said:
            raise FsirError(f"{said[0]}: is about two aggregators; add --trust secure")
        return
    for role in ROLES:
        if getattr(args, role) is None:
            raise FsirError(
                f"--trust secure: --{role} is missing; give the line that its "
                "`fsir-aggregator keys new` has printed"
            )
    if args.aggregation != "exact":
        raise FsirError(
            f"--aggregation {args.aggregation}: nobody sees single reports with --trust secure; "
            "use --groups, or leave it out"
        )
    if args.devices is not None and args.cohort is not None and args.cohort > args.devices:
        raise FsirError(
            f"--cohort {args.cohort}: is never reached by the {args.devices} devices that are "
            "expected, and nothing would be opened; lower it"
        )


def secure_of(args: argparse.Namespace) -> Secure | None:
    """The two aggregators that were named, if any."""
    if args.trust == LOCAL:
        return None
    cohort = min(COHORT, args.devices or COHORT) if args.cohort is None else args.cohort
    leader, helper = (_party(role, getattr(args, role)) for role in ROLES)
    return Secure(leader=leader, helper=helper, cohort=cohort, groups=args.groups)


def _party(role: str, text: str) -> Party:
    name, _, key = text.partition(":")
    if public_half(key) is None:
        raise FsirError(
            f"--{role} {text[:80]}: give NAME:KEY, the line that `fsir-aggregator keys new` prints"
        )
    return Party(name, key)
