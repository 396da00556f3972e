"""How far a task is: who is expected, how fast reports come, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aggregator.federation import Federation
from aggregator.overview.cohorts import opening
from aggregator.overview.devices import current_stage
from aggregator.overview.words import time_text
from aggregator.store.base import Store
from fsir.privacy.plan import FINAL, SCREENING

EXPECT = "expect"  # the setting that `serve --expect` leaves
HOUR_SECONDS = 3600.0
FEW_REPORTS = 20  # when fewer came in the last hour, the rate is that of the last so many
STALE_SECONDS = 86400.0  # after so long without a report there is no rate any more


@dataclass(frozen=True)
class Target:
    """How many devices are expected in a stage, who says so, and how many of them are missing."""

    devices: int | None
    source: str | None
    missing: int | None

    @property
    def counted(self) -> int | None:
        """How many of those who are expected are counted."""
        return None if self.devices is None else self.devices - (self.missing or 0)


def progress(
    store: Store, federation: Federation, states: Mapping[str, int], now: float
) -> dict[str, Any]:
    """The `progress` of an overview, from the counts of devices by state."""
    stage = current_stage(federation)
    counted = states["reported"]
    target = target_of(store, federation, states)
    newest = store.arrivals(federation.key, stage, FEW_REPORTS)
    in_last_hour = store.arrived_since(federation.key, stage, now - HOUR_SECONDS)
    first = store.first_at(federation.key, stage)
    per_hour, over = rate(newest, in_last_hour, first, now)
    return {
        "stage": stage,
        "counted": counted,
        "expected": target.devices,
        "expected_from": target.source,
        "expected_counted": target.counted,
        "missing": target.missing,
        "per_hour": per_hour,
        "per_hour_over": over,
        "last_at": time_text(newest[0]) if newest else None,
        "to_go_seconds": _to_go(target.missing, per_hour),
        "waits_for": waits_for(store, federation, target, counted),
    }


def target_of(store: Store, federation: Federation, states: Mapping[str, int]) -> Target:
    """The roster, or else what `serve` was told, or else what the task itself says."""
    if states["roster"]:
        return Target(states["expected"], "roster", states["missing"])
    told = store.setting(EXPECT)
    rule = federation.task.screening
    if told is not None:
        expected = int(told)
        source = "--expect"
    elif rule is None:
        return Target(None, None, None)
    elif current_stage(federation) == SCREENING:
        expected = rule.quorum
        source = "quorum"
    else:
        expected = store.totals(federation.key, SCREENING).devices
        source = "screening"
    return Target(expected, source, max(0, expected - states["reported"]))


def rate(
    newest: Sequence[float], in_last_hour: int, first: float | None, now: float
) -> tuple[float | None, str | None]:
    """Reports per hour, and over what: the last hour or, where few came in it, the last reports.

    Reports are counted from the first of them on, which starts the clock and is not counted itself;
    so the rate falls while none comes, and after a day there is none.

    >>> rate([10.0, 5.0, 0.0], 3, 0.0, 1800.0)
    (4.0, 'the last 3 reports')
    >>> rate([1e4] * 20, 500, 0.0, 1e4)
    (500.0, 'the last hour')
    """
    if first is None or len(newest) < 2 or now - newest[0] > STALE_SECONDS:
        return None, None
    if in_last_hour >= FEW_REPORTS and now - first >= HOUR_SECONDS:
        return float(in_last_hour), "the last hour"
    many = in_last_hour >= FEW_REPORTS
    count = in_last_hour if many else len(newest)
    seconds = now - (first if many else newest[-1])
    if seconds <= 0.0:  # all in one batch, or the clock was set back
        return None, None
    return HOUR_SECONDS * (count - 1) / seconds, f"the last {count} reports"


def _to_go(missing: int | None, per_hour: float | None) -> float | None:
    if missing is None or not per_hour:
        return 0.0 if missing == 0 else None
    return HOUR_SECONDS * missing / per_hour


def waits_for(store: Store, federation: Federation, target: Target, counted: int) -> dict[str, str]:
    """What happens next, as a code for programs and in words."""
    next_sum = opening(store, federation)
    if current_stage(federation) == SCREENING:
        rule = federation.task.screening
        complete = rule is not None and counted >= rule.quorum
        return next_sum if next_sum and complete else _screening(store, federation, counted)
    if counted == 0:
        kind = "final report" if federation.task.screening else "report"
        return {"code": "first report", "text": f"the first {kind}"}
    shown = store.published(federation.key, "subspace")
    change = sum(row.change for row in store.rounds(federation.key, FINAL))
    if next_sum is not None:
        return next_sum
    # The helper of two aggregators has no totals, and estimates nothing.
    if change and (shown is None or shown.change < change):
        return {"code": "estimate", "text": "an estimate from what has come: `serve` makes it"}
    if target.missing:
        return {"code": "reports", "text": f"the reports of {target.missing} more device(s)"}
    if federation.task.secure is not None and shown is None:
        return {"code": "nothing", "text": "nothing here: the leader makes the estimate"}
    return {"code": "nothing", "text": "nothing"}


def _screening(store: Store, federation: Federation, counted: int) -> dict[str, str]:
    """What the active set waits for."""
    rule = federation.task.screening
    if counted == 0 or rule is None:
        return {"code": "first report", "text": "the first screening report"}
    if counted >= rule.quorum:
        text = f"a feature that stands out: none does among {counted} screening reports"
        return {"code": "active set", "text": text}
    more = f"{rule.quorum - counted} more screening report(s) ({counted} of {rule.quorum})"
    first = store.first_at(federation.key, SCREENING)
    if rule.wait_seconds > 0.0 and first is not None:
        more += f", at most until {time_text(first + rule.wait_seconds)}"
    return {"code": "quorum", "text": f"{more}, then the active set is chosen"}
