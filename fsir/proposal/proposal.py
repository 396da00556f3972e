"""A task's constants from a public sample: what was chosen, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.errors import FsirError
from fsir.proposal.constants import (
    Choice,
    Expectation,
    PublicSample,
    most_coordinates,
    usual_choice,
)
from fsir.proposal.discriminants import blocks, choose_ridge
from fsir.proposal.rehearsal import Rehearsed, best, can_rehearse, held_out_accuracy, rehearse
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
    coordinates: int | None = None,
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
    coordinates
        How many numbers the map turns a record into; None: as many as the noise lets use.
    """
    parts, by_people = _parts(slices, H, groups)
    kind = "people" if by_people else "blocks"
    ridge = choose_ridge(standard(X).apply(X), slices, H, parts)
    most = most_coordinates(len(X), X.shape[1], H, expected.rounds)
    usual = usual_choice(expected, H, most)
    if coordinates is not None:
        usual = replace(usual, coordinates=_asked(coordinates, most))
    chosen = usual
    why = {
        "scale": "one for all features where they are on one scale already, else the standard "
        "deviation of each, none far below the usual one",
        "map": f"directions that tell the slices of the sample apart, ridge {ridge:g} by "
        f"cross-validation over its {kind}",
    }
    accuracy: dict[str, float] = {}
    if can_rehearse(slices, H, parts):
        right = held_out_accuracy(X, slices, parts, ridge, expected)
        accuracy = {"accuracy": round(right, 4)}
        why["sample"] = f"alone it is right about {right:.1%} of {kind} that it has not seen"
    if by_people and accuracy:
        sizes = _other_sizes(usual, H, most) if coordinates is None else []
        alternatives = _alternatives(usual, sizes)
        rehearsed = rehearse(X, slices, parts, ridge, expected, alternatives, progress)
        chosen = best(rehearsed, usual)
        why["rehearsal"] = _rehearsal(rehearsed, usual, chosen)
    else:
        why["rehearsal"] = (
            f"none: it takes the records of {_FEWEST_PEOPLE} people or more, each with every class"
        )
    sample = PublicSample.of(X, slices, H, ridge, chosen.coordinates)
    sections = sample.sections(chosen, numeric=numeric)
    sections["public"] |= accuracy
    why |= _explained(chosen, sections, expected)
    if coordinates is not None:
        why["coordinates"] = f"{sections['public']['coordinates']}, as asked"
    return Proposal(sections=sections, why=why)


def _parts(slices: Integers, H: int, groups: Integers | None) -> tuple[Integers, bool]:
    """The parts of a sample: its people where there are enough, else blocks of neighbours."""
    if groups is not None:
        names, numbers = np.unique(groups, return_inverse=True)
        if len(names) >= _FEWEST_PEOPLE:
            return np.asarray(numbers % _FEWEST_PEOPLE), True
    return blocks(slices, H), False


def _asked(coordinates: int, most: int) -> int:
    if not 1 <= coordinates <= most:
        raise FsirError(
            f"coordinates = {coordinates}: such a sample can tell about {most}; give 1 to {most}"
        )
    return coordinates


def _other_sizes(usual: Choice, H: int, most: int) -> list[int]:
    q = usual.coordinates
    return sorted({max(q // _OTHER_SIZE, min(H - 1, most)), min(q * _OTHER_SIZE, most)} - {q})


def _alternatives(usual: Choice, sizes: Sequence[int]) -> list[Choice]:
    return [
        usual,
        *(replace(usual, coordinates=size) for size in sizes),
        *(replace(usual, clip_factor=factor) for factor in _OTHER_CLIPS),
        replace(usual, split=_OTHER_SPLIT),
    ]


def _rehearsal(rehearsed: Rehearsed, usual: Choice, chosen: Choice) -> str:
    scores = {choice: found.mean() for choice, found in rehearsed.by_choice.items()}
    table = ", ".join(
        f"{choice.coordinates} coordinates, clip x{choice.clip_factor:g}, "
        f"split {choice.split:g}: {score:.1%}"
        for choice, score in scores.items()
    )
    verdict = (
        "the usual choice stays: no other was plainly better"
        if chosen == usual
        else f"plainly better than the usual choice ({scores[usual]:.1%})"
    )
    alone = rehearsed.alone.mean()
    return f"played by people of the sample ({alone:.1%} without reports): {table}; {verdict}"


def _explained(chosen: Choice, sections: dict[str, Any], expected: Expectation) -> dict[str, str]:
    q = sections["public"]["coordinates"]
    norm = sections["clip"]["norm"]
    worth = "" if expected.rounds == 1 else f" ({expected.rounds} rounds are worth so many)"
    return {
        "coordinates": f"{q}: as many as the noise of {expected.devices} devices with "
        f"{expected.records} records each{worth} lets use",
        "clip": f"{norm:g}: {chosen.clip_factor:g} times the usual length of a record of the "
        "sample, because strangers lie farther out",
        "split": f"{chosen.split:g} between sums and second moment",
    }
