"""What the federation adds, in one sentence; and if it adds nothing, what it would take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sim_devices.scenarios.control import Control
from sim_devices.scenarios.virtual_fleets import Larger

LEAST_GAIN = 0.01  # one point: less can be the luck of a few unseen people

LEAST_NEARER = 0.01  # in projection loss


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the federation adds to the best that can be had without it."""

    sentence: str
    gain: float  # in shares of records, in R^2, or in projection loss
    over: str  # which control it was held against


def of_classes(score: float, without: Control, larger: Iterable[Larger]) -> Verdict:
    """The verdict on a classifier; `larger` fleets are asked for only if this one adds nothing."""
    what = "what is public" if without.public else "what one device finds alone"
    from_to = f"({_percent(without.score)} -> {_percent(score)})"
    gain = score - without.score
    if gain > LEAST_GAIN:
        said = f"The federation adds {100 * gain:.1f} points to {what} {from_to}."
    else:
        said = f"The federation adds nothing to {what} {from_to}. {_needed(without, larger)}"
    return Verdict(sentence=said, gain=gain, over=without.name)


def _needed(without: Control, larger: Iterable[Larger]) -> str:
    if without.score > 1.0 - LEAST_GAIN:
        return "There is less than a point left to add."
    tried = 0
    for fleet in larger:
        tried = fleet.devices
        gain = fleet.accuracy - without.score
        if gain > LEAST_GAIN:
            return (
                f"Simulated with the same people's records drawn again: {tried} devices would add "
                f"{100 * gain:.1f} points."
            )
    return (
        "Simulated with the same people's records drawn again: "
        f"not even {tried} devices would add a point."
    )


def of_numbers(score: float, without: Control) -> Verdict:
    """The verdict on directions for a number, by the R^2 of a line on them."""
    what = "what is public explains" if without.public else "what one device explains alone"
    from_to = f"(R^2 {without.score:.3f} -> {score:.3f})"
    gain = score - without.score
    added = f"adds {100 * gain:.1f} points" if gain > LEAST_GAIN else "adds nothing"
    said = f"The federation {added} to {what} of the response {from_to}."
    return Verdict(sentence=said, gain=gain, over=without.name)


def of_losses(loss: float, without: Control, known: float) -> Verdict:
    """The verdict where the truth is known, `known` being the error of the control.

    A line may explain nothing of a response that bends; the distance from the truth always tells.
    """
    what = "what is public" if without.public else "one device alone"
    from_to = f"(error {known:.3f} -> {loss:.3f})"
    nearer = known - loss
    came = (
        f"comes {nearer:.3f} nearer to the truth than"
        if nearer > LEAST_NEARER
        else "adds nothing to"
    )
    said = f"The federation {came} {what} {from_to}."
    return Verdict(sentence=said, gain=nearer, over=without.name)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
