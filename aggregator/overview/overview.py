"""One dictionary for each task: what `status --json` prints, and what pages and metrics show.

    overview(store, federation, now) -> {
        "task": name, "epoch": int, "digest": hex,
        "now": time of this overview,
        "stages": {stage: {"devices": int, "records": int, "recount": bool (only if asked for)}},
        "active": [feature, ...] or None,
        "progress": {
            "stage": "screening" or "final", the one whose reports are being collected,
            "counted": devices counted in it,
            "expected": devices, or None if nobody has said how many,
            "expected_from": "roster", "--expect", "quorum", "screening" (those that were counted in
                the first stage) or None,
            "expected_counted": how many of those who are expected are counted, or None; with a
                roster, others may be counted too,
            "missing": devices that are expected and not counted, or None,
            "per_hour": reports per hour or None, "per_hour_over": over what, in words, or None,
            "last_at": time of the last report or None,
            "to_go_seconds": at this rate, or None,
            "waits_for": {"code": "first report", "quorum", "active set", "cohort", "estimate",
                "reports" or "nothing", "text": the same in words}},
        "rounds": only if the task has several: {"of": how many, "current": the one that devices
            report in, by the clock or by what was counted, "counted": [{"round", "devices",
            "records"}, ...], the oldest first, `rounds.NEWEST` at most, "moved": how far the newest
            version has moved, in units of its expected error, or None, "drift_since": the round
            since which something has changed that noise does not explain, or None},
        "cohorts": only if two aggregators open sums: {"cohort": devices in a sum at least,
            "groups": how many, "waiting": reports that are not opened, "pools": [{"stage",
            "round", "group", "waiting", "lacking": how many more a sum needs, "pending": whether
            the other aggregator was asked, "opened": reports, "cohorts": sums, "lost": sums that
            are open at the helper alone}, ...], `cohorts.NEWEST` at most},
        "subspace": None before there is one, else {
            "version", "published": time, "dimension", "singular_values": [float, ...],
            "noise_level": what singular values must exceed, "expected_error",
            "random_error": of who knows nothing, "expected_accuracy": float or None, "devices",
            "records", "notes": [text, ...]},
        "history": [{"version", "at": time, "devices", "records", "dimension", "expected_error",
            "expected_accuracy": float or None, "angle_degrees": the largest angle to the version
            before, or None, and where there are rounds "round", "moved" and "drift_since"}, ...],
            the oldest first, `growth.MOST_VERSIONS` at most,
        "forecast": None or {"devices": twice as many as now, "expected_error",
            "expected_accuracy": float or None},
        "directions": None or {"features": [name, ...], "loadings": [[float for each feature], ...
            for each direction], of length 1, "bars": None or [float for each feature, in all
            directions], "bar_means": text, "left_out": how many features have smaller loadings in
            every direction},
        "classes": None or {"names": [class, ...], "shares": [float, ...], "centres": [[x, y], ...]
            in the first two directions ([[x], ...] if there is one), "spread": None or {"axes":
            half axes of the ellipse, the longer one first, "angle_degrees": of the first axis},
            "spread_means": text, "doubtful": [class that hardly anybody reported, ...]},
        "devices": {"roster": size, 0 without one, "expected": those on it who were not withdrawn,
            "missing": those of them who are not counted, "reported", "waiting", "silent",
            "withdrawn", "unlisted": how many are in each state (`devices.MEANINGS`), "names":
            {"waiting", "silent", "withdrawn", "unlisted": [the first `devices.FEW` names]}},
        "refused": {reason: count},
        "refusals": [{"at": time, "device", "stage", "reason", "text", "meaning"}, ...], the newest
            first, `refusals.NEWEST` at most; texts are printable and short,
        "withdrawn": int,
    }

All of it can be written as JSON; times are ISO 8601 in UTC. More names: `devices.page`. What only a
running daemon knows, its connection and whether its store can be written, is `Daemon.health`.
"""

from __future__ import annotations

from typing import Any

from aggregator.federation import Federation
from aggregator.overview import devices, growth, picture, refusals
from aggregator.overview.cohorts import cohorts
from aggregator.overview.progress import progress
from aggregator.overview.rounds import rounds
from aggregator.overview.words import time_text
from aggregator.results.opened import agrees_with_opened
from aggregator.rounds.recount import agrees
from aggregator.store.base import Store
from aggregator.store.rows import PublishedRow
from fsir.estimate.subspace import random_loss
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Subspace


def overview(
    store: Store, federation: Federation, now: float, *, recount: bool = False
) -> dict[str, Any]:
    """What is known of one task; see the module's docstring."""
    shown = store.published(federation.key, "subspace")
    subspace = decode(shown.body, Subspace) if shown is not None and shown.body else None
    versions = store.versions(federation.key, growth.MOST_VERSIONS)
    states = devices.counts(store, federation)
    return {
        "task": federation.name,
        "epoch": federation.task.epoch,
        "digest": federation.digest.hex(),
        "now": time_text(now),
        "stages": _stages(store, federation, recount),
        "active": _active(federation),
        "progress": progress(store, federation, states, now),
        **rounds(store, federation, versions, now),
        **cohorts(store, federation),
        "subspace": _subspace(subspace, shown),
        "history": growth.history(versions, shown, subspace),
        "forecast": growth.forecast(versions, subspace),
        "directions": None if subspace is None else picture.directions(federation.task, subspace),
        "classes": None if subspace is None else picture.classes(subspace.classifier),
        "devices": {**states, "names": devices.names(store, federation, states)},
        "refused": refusals.counts(store, federation.name),
        "refusals": refusals.newest(store, federation.name),
        "withdrawn": states["withdrawn"],
    }


def _stages(store: Store, federation: Federation, recount: bool) -> dict[str, dict[str, Any]]:
    stages: dict[str, dict[str, Any]] = {}
    for stage in list(federation.layouts):  # the daemon may pin an active set meanwhile
        rows = store.rounds(federation.key, stage)
        devices = sum(row.devices for row in rows)
        if federation.follows(stage):
            devices = sum(store.patterns(federation.key, stage).values())
        stages[stage] = {"devices": devices, "records": sum(row.records for row in rows)}
        if recount:
            compared = agrees if federation.task.secure is None else agrees_with_opened
            stages[stage]["recount"] = compared(store, federation, stage)
    return stages


def _active(federation: Federation) -> list[str] | None:
    if federation.active is None:
        return None
    return list(decode(federation.active, Active).features)


def _subspace(subspace: Subspace | None, shown: PublishedRow | None) -> dict[str, Any] | None:
    if subspace is None or shown is None:
        return None
    return {
        "version": subspace.version,
        "published": time_text(shown.at),
        "dimension": subspace.dimension,
        "singular_values": subspace.singular_values.tolist(),
        "noise_level": subspace.noise_level,
        "expected_error": subspace.expected_error,
        "random_error": random_loss(len(subspace.features), subspace.dimension),
        "expected_accuracy": subspace.expected_accuracy,
        "devices": subspace.devices,
        "records": subspace.records,
        "notes": list(subspace.notes),
    }
