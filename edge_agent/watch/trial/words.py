"""What a trial has found, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from edge_agent.watch.trial.account import Account
from edge_agent.watch.trial.problems import Place
from fsir.errors import some

_HEAD = 12  # columns of the left side


def lines(found: Account) -> Iterator[str]:
    """What is there, about a page."""
    yield from _block("columns", [_columns(found["columns"])])
    yield from _block("records", _records(found))
    yield from _block("features", _features(found["features"], found["clipped"]))
    yield from _block("response", _classes(found["classes"], found["public_rule"]))


def _records(found: Account) -> Iterator[str]:
    yield f"{found['usable']} of {found['records']} can be used"
    for one in found["refused"]:
        where = Place(one["record"], one["line"])
        detail = "" if one["detail"] == one["reason"] else f": {one['detail']}"
        yield f"{one['count']} {one['reason']}{detail} ({where})"


def verdict(problems: list[str]) -> Iterator[str]:
    """The last lines."""
    if not problems:
        yield "looks right"
        return
    yield f"{len(problems)} problem{'s' if len(problems) > 1 else ''}:"
    yield from (f"  {k}. {text}" for k, text in enumerate(problems, 1))


def _block(head: str, texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield f"{head:<{_HEAD}}{text}"
        head = ""


def _columns(columns: dict[str, Any]) -> str:
    found = f"{columns['found']} of {columns['of']} features"
    if not columns["missing"]:
        return f"{found}, and the response"
    named = (f"{name} ({near}?)" if near else name for name, near in columns["missing"].items())
    return f"{found}; missing: {some(named)}"


def _features(features: dict[str, Any] | None, clipped: float | None) -> Iterator[str]:
    if features is None:
        yield "too few records with numbers in all of them to look at values"
        return
    yield _listed("cut off", features["truncated"], "{:.0%}") or "none is ever cut off"
    if features["constant"]:
        yield f"never change: {some(features['constant'])}"
    away = _listed("farthest from the centre, in scales", features["away"], "{:+.1f}")
    if away:
        yield away
    if clipped is not None:
        yield f"{clipped:.0%} of the records are longer than the clip, and shortened"


def _listed(what: str, values: dict[str, float], form: str) -> str:
    listed = ", ".join(f"{name} {form.format(value)}" for name, value in values.items())
    return f"{what}: {listed}" if listed else ""


def _classes(classes: dict[str, dict[str, Any]], rule: dict[str, float] | None) -> Iterator[str]:
    there = [(label, one) for label, one in classes.items() if one["share"]]
    if not there:
        yield "no record has one that the task knows"
        return
    yield ", ".join(f"{label} {_share(one)}" for label, one in there)
    if absent := [label for label, one in classes.items() if not one["share"]]:
        yield f"not seen: {some(absent)}"
    if rule is not None:
        yield (
            f"what is public names {rule['right']:.0%} rightly "
            f"(guessing {rule['guessing']:.0%}, the public sample {rule['public']:.0%})"
        )


def _share(one: dict[str, Any]) -> str:
    public = "" if one["public"] is None else f" (public {one['public']:.0%})"
    return f"{one['share']:.0%}{public}"
