"""An overview in a few lines, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aggregator.overview import cohorts
from aggregator.overview.words import rate_text, span_text

_RECOUNTED = {
    None: "",
    True: "; the stored reports add up to it",
    False: "; NOT what the stored reports add up to",
}
_SOURCES = {
    "roster": "on the roster",
    "--expect": "expected",
    "quorum": "for the quorum",
    "screening": "that were screened",
}
_LAST = 4  # rounds whose devices are told
_TOLD = ("roster", "--expect")  # by an operator, who wants to see it when all have come, too


def lines(entry: dict[str, Any]) -> Iterator[str]:
    """The lines about one task."""
    yield f"task {entry['task']}, epoch {entry['epoch']}, digest {entry['digest'][:16]}"
    for stage, count in entry["stages"].items():
        recounted = _RECOUNTED[count.get("recount")]
        yield f"  {stage}: {count['devices']} devices, {count['records']} records{recounted}"
    yield from _progress(entry)
    yield from _rounds(entry)
    yield from cohorts.lines(entry)
    if entry["active"] is not None:
        shown = ", ".join(entry["active"][:5]) + (", ..." if len(entry["active"]) > 5 else "")
        yield f"  active set: {len(entry['active'])} features ({shown})"
    yield from _subspace(entry)
    reasons = sorted(entry["refused"].items())
    refused = ", ".join(f"{reason} {count}" for reason, count in reasons) or "none"
    yield f"  refused: {refused}; withdrawn: {entry['withdrawn']}"


def _progress(entry: dict[str, Any]) -> Iterator[str]:
    """How many of those expected, how fast, and how long it will take."""
    progress = entry["progress"]
    expected = progress["expected"]
    parts = []
    if expected is not None and (progress["missing"] or progress["expected_from"] in _TOLD):
        there = f"{progress['expected_counted']} of {expected}"
        parts.append(f"{there} {_SOURCES[progress['expected_from']]}")
        if entry["devices"]["unlisted"]:
            parts.append(f"{entry['devices']['unlisted']} not on it")
    if progress["per_hour"] is not None:
        parts.append(f"{rate_text(progress['per_hour'])} an hour ({progress['per_hour_over']})")
    if progress["to_go_seconds"]:
        parts.append(f"about {span_text(progress['to_go_seconds'])} to go")
    if parts:
        yield f"  {progress['stage']} reports: {', '.join(parts)}"
    yield from _missing(entry["devices"])


def _rounds(entry: dict[str, Any]) -> Iterator[str]:
    """Which round it is, and how many devices the last ones have."""
    found = entry.get("rounds")
    if found is None:
        return
    parts = [f"round {row['round']}: {row['devices']}" for row in found["counted"][-_LAST:]]
    devices = f"; devices in {', '.join(parts)}" if parts else ""
    yield f"  rounds: {found['current']} of {found['of']}{devices}"


def _missing(devices: dict[str, Any]) -> Iterator[str]:
    parts = []
    for state in ("waiting", "silent"):
        if devices[state]:
            names = devices["names"][state][:3]
            more = ", ..." if devices[state] > len(names) else ""
            parts.append(f"{devices[state]} {state} ({', '.join(names)}{more})")
    if parts:
        yield f"  not yet: {', '.join(parts)}"


def _subspace(task: dict[str, Any]) -> Iterator[str]:
    entry = task["subspace"]
    waits = task["progress"]["waits_for"]
    if entry is None:
        yield f"  subspace: none yet; waits for {waits['text']}"
        return
    version = f"version {entry['version']} of {entry['published']}"
    yield f"  subspace: {version}, {entry['devices']} devices"
    values = ", ".join(f"{value:.3g}" for value in entry["singular_values"][:6])
    noise = f"(noise {entry['noise_level']:.3g})"
    yield f"    dimension {entry['dimension']}; singular values {values} {noise}"
    scale = f"(0: exact, {entry['random_error']:.3g}: nothing learned)"
    yield f"    expected error {entry['expected_error']:.3g} {scale}"
    if entry["expected_accuracy"] is not None:
        yield f"    expected accuracy {entry['expected_accuracy']:.1%} for those who take no part"
    yield from _growth(task)
    for note in entry["notes"]:
        yield f"    note: {note}"
    if waits["code"] != "nothing":
        yield f"  waits for {waits['text']}"


def _growth(task: dict[str, Any]) -> Iterator[str]:
    """How far the last version has turned, and what to expect of more devices."""
    turned = task["history"][-1]["angle_degrees"] if task["history"] else None
    if turned is not None:
        yield f"    turned by {turned:.2f} degrees from the version before"
    moved = task.get("rounds", {}).get("moved")
    if moved is not None:
        yield f"    moved by {moved:.2g} of its expected error from the version before"
    ahead = task["forecast"]
    if ahead is not None:
        accuracy = ahead["expected_accuracy"]
        right = "" if accuracy is None else f", expected accuracy {accuracy:.1%}"
        error = f"expected error {ahead['expected_error']:.3g}"
        yield f"    with {ahead['devices']} devices like these: {error}{right}"
