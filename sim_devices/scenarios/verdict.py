"""What the federation adds, in one sentence; and if it adds nothing, what it would take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


@dataclass(frozen=True)
class Tried:
    """What else was tried, and how well that did."""

    name: str  # "60 devices", "epsilon 2"
    score: float
    error: float | None = None  # the standard error of its gain over the unseen people


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """What a sentence about a table of one's own is about, and what else was tried."""

    devices: int
    records: str  # of each, in words
    epsilon: float
    larger: Sequence[Tried] = ()  # simulated, by size
    budgets: Sequence[Tried] = ()  # above this one, by size, with the same devices
    runs: Sequence[float] = ()  # the score of every run with other noise


def of_fleet(
    score: float,
    without: Control,
    fleet: Fleet,
    *,
    numeric: bool = False,
    people: int = 0,
    error: float | None = None,
) -> Verdict:
    """The verdict with its numbers of devices and records, and on what others would add.

    `error` is the standard error of the gain over so many unseen people.
    """
    gain = score - without.score
    start = f"With {fleet.devices} devices and {fleet.records} records each, epsilon"
    worse = gain < -max(LEAST_GAIN, 2.0 * (error or 0.0))
    said = f"{start} {fleet.epsilon:g} {_added(gain, without, score, numeric, worse)}"
    if gain > LEAST_GAIN:
        said += _more(gain, without, fleet)
        said += _luck([Tried("", score, error)], without, people)
        said += _drowned(without, fleet)
    else:
        enough = _enough(without, fleet)
        said += f"; {_remedy(without, fleet, enough)}."
        said += _luck(enough, without, people)
    return Verdict(sentence=said, gain=gain, over=without.name)


def _added(gain: float, without: Control, score: float, numeric: bool, worse: bool) -> str:
    what = without.name.partition(" alone: ")[0] if " alone: " in without.name else "what is public"
    from_to = f"({_percent(without.score)} -> {_percent(score)})"
    if numeric:
        from_to = f"(R^2 {without.score:.3f} -> {score:.3f})"
    if gain > LEAST_GAIN:
        return f"adds {100 * gain:.1f} points to {what} {from_to}"
    if worse:
        return f"does worse than {what} by {-100 * gain:.1f} points {from_to}"
    return f"adds nothing to {what} {from_to}"


def _more(gain: float, without: Control, fleet: Fleet) -> str:
    """What the largest fleet that was tried would add, if that is more."""
    for larger in fleet.larger[-1:]:
        added = larger.score - without.score
        if added > gain:
            return f"; with {larger.name} it would add {100 * added:.1f}."
    return "."


def _luck(claims: Sequence[Tried], without: Control, people: int) -> str:
    """Gains that come from so few people that nobody can be sure of them."""
    if people == 1 and claims:
        return " But one unseen person cannot tell that from luck."
    errors = [
        claim.error
        for claim in claims
        if claim.error is not None and claim.score - without.score <= 2.0 * claim.error
    ]
    if not errors:
        return ""
    return (
        f" But {people} unseen people cannot tell that from luck: its standard error is "
        f"{100 * max(errors):.1f} points."
    )


def _drowned(without: Control, fleet: Fleet) -> str:
    """Runs that are not better than what is public: who federates has one run, not the median."""
    lost = sum(score <= without.score for score in fleet.runs)
    return f" In {lost} of {len(fleet.runs)} runs noise took all of it." if lost else ""


def _enough(without: Control, fleet: Fleet) -> list[Tried]:
    """The first fleet, and the first budget, that were seen to add a point."""
    least = without.score + LEAST_GAIN
    ways = (fleet.larger, fleet.budgets)
    found = [next((one for one in tried if one.score > least), None) for tried in ways]
    return [one for one in found if one is not None]


def _remedy(without: Control, fleet: Fleet, enough: Sequence[Tried]) -> str:
    """What would add a point."""
    if enough:
        return " and ".join(
            f"{one.name} would add {100 * (one.score - without.score):.1f} points" for one in enough
        )
    if without.score > 1.0 - LEAST_GAIN:
        return "there is less than a point left to add"
    most = [tried[-1].name for tried in (fleet.larger, fleet.budgets) if tried]
    return f"not even {' or '.join(most)} would add a point" if most else "no more was tried"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
