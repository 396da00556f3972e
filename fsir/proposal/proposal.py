"""A task's constants from a public sample: what was chosen, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.proposal.constants import (
    Choice,
    Expectation,
    PublicSample,
    most_coordinates,
    usual_choice,
)
from fsir.proposal.discriminants import blocks, choose_ridge
from fsir.proposal.rehearsal import Rehearsed, best, can_rehearse, rehearse
from fsir.proposal.standard import standard

_FEWEST_PEOPLE = 5  # in a sample, for them to be the parts of a rehearsal
_OTHER_CLIPS = (1.0, 2.0)
_OTHER_SPLIT = 2.0
_OTHER_SIZE = 3  # times as many coordinates, or as few


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Tables of a task, to be merged with what its author says; and each choice with its reason."""

    sections: dict[str, Any]
    why: dict[str, str]


def propose(
    X: Matrix,
    slices: Integers,
    H: int,
    expected: Expectation,
    groups: Integers | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    numeric: bool = False,
    rehearsing: bool = True,
) -> Proposal:
    """Standardisation, map, clip and split for a task, from public records alone.

    Parameters
    ----------
    X
        Public records, all finite; every feature must vary.
    slices
        The slice of each, from 0 to `H - 1`.
    H
        Number of slices.
    expected
        Devices, their records, and their budget.
    groups
        Who each record is of, where the sample is of several people.
    progress
        Called with how much of the rehearsal is done, and how much there is.
    numeric
        Whether slices are intervals of a number, and not classes.
    rehearsing
        False: leave the rehearsal out, which takes most of the time, and take the usual choice.
    """
    parts, kind = _parts(slices, H, groups)
    ridge = choose_ridge(standard(X).apply(X), slices, H, parts)
    most = most_coordinates(len(X), X.shape[1], H)
    usual = usual_choice(expected, H, most)
    why = {
        "scale": "the sample's standard deviations, none far below the usual one of all features",
        "map": f"directions that tell the slices of the sample apart, ridge {ridge:g} by "
        f"cross-validation over its {kind}",
    }
    chosen = usual
    sections: dict[str, Any] = {}
    if not rehearsing:
        why["rehearsal"] = "none was asked for"
    elif can_rehearse(slices, H, parts):
        alternatives = _alternatives(usual, H, most)
        rehearsed = rehearse(X, slices, parts, ridge, expected, alternatives, progress)
        chosen = best(rehearsed, usual)
        why |= _reasons(rehearsed, usual, chosen, kind)
        sections["public"] = {"accuracy": round(float(rehearsed.alone.mean()), 4)}
    else:
        why["rehearsal"] = f"none: the sample has too few {kind} with every class"
    sample = PublicSample.of(X, slices, H, ridge, chosen.coordinates)
    found = sample.sections(chosen, numeric=numeric)
    found["public"] |= sections.get("public", {})
    why |= _explained(chosen, found, expected)
    return Proposal(sections=found, why=why)


def _parts(slices: Integers, H: int, groups: Integers | None) -> tuple[Integers, str]:
    """The parts of a rehearsal: people where there are enough, else blocks of neighbours."""
    if groups is not None:
        names, numbers = np.unique(groups, return_inverse=True)
        if len(names) >= _FEWEST_PEOPLE:
            return numbers % _FEWEST_PEOPLE, "people"
    return blocks(slices, H), "blocks"


def _alternatives(usual: Choice, H: int, most: int) -> list[Choice]:
    q = usual.coordinates
    sizes = {max(q // _OTHER_SIZE, min(H - 1, most)), min(q * _OTHER_SIZE, most)} - {q}
    return [
        usual,
        *(replace(usual, coordinates=size) for size in sorted(sizes)),
        *(replace(usual, clip_factor=factor) for factor in _OTHER_CLIPS),
        replace(usual, split=_OTHER_SPLIT),
    ]


def _reasons(rehearsed: Rehearsed, usual: Choice, chosen: Choice, kind: str) -> dict[str, str]:
    scores = {choice: 100.0 * found.mean() for choice, found in rehearsed.by_choice.items()}
    table = ", ".join(
        f"{choice.coordinates} coordinates, clip x{choice.clip_factor:g}, "
        f"split {choice.split:g}: {score:.1f}%"
        for choice, score in scores.items()
    )
    verdict = (
        "the usual choice stays: no other was plainly better"
        if chosen == usual
        else f"plainly better than the usual choice ({scores[usual]:.1f}%)"
    )
    return {
        "rehearsal": f"over {kind} of the sample, which alone reaches "
        f"{100.0 * rehearsed.alone.mean():.1f}%: {table}; {verdict}"
    }


def _explained(chosen: Choice, sections: dict[str, Any], expected: Expectation) -> dict[str, str]:
    q = sections["public"]["coordinates"]
    norm = sections["clip"]["norm"]
    return {
        "coordinates": f"{q}: as many as the noise of {expected.devices} devices with "
        f"{expected.records} records each lets use",
        "clip": f"{norm:g}: {chosen.clip_factor:g} times the usual length of a record of the "
        "sample, because strangers lie farther out",
        "split": f"{chosen.split:g} between sums and second moment",
    }
