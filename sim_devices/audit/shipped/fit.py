"""Do published numbers follow the law that the proof is about?

Under that law all scores are independent standard normals, so each test below is exact, or has a
bound that holds at every size. Together they raise a false alarm with probability at most `RISK`.
What they can see: noise that is missing, too small or too large, in one number or in a block;
numbers about other sums than those of the clipped records; noise that two numbers, reports or
devices share; a cut tail; another shape.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy import stats

from fsir.arrays import Integers, Matrix
from sim_devices.audit.finding import RISK
from sim_devices.audit.shipped.scores import Side

_FAMILIES = 9
_LEVEL = RISK / _FAMILIES
_SEVERAL = 400  # numbers of a report that are compared with each other, drawn anew each time
_TAIL_SIGMAS = 4.0
_FINE = 0.126  # a cell of most numbers, in sd; counts may have larger ones
_TELLING = 12  # numbers that do not agree by chance: at least eight steps to an sd
_SHOWN = 3  # faults of a family that are told


def misfits(first: Side, second: Side, rng: np.random.Generator) -> list[str]:
    """What contradicts the law, in words; empty if nothing does."""
    Z = first.scores(rng)
    Y = second.scores(rng)
    both = np.vstack([Z, Y])
    names = first.names()
    families = [
        _centres((Z, Y), names),
        _pooled_centres(Z, Y),
        _canary(Z, Y, (first.mean() - second.mean()) / first.sd()),
        _scatter(both, names),
        _pooled_scatter(both, first),
        _shared(both, names, rng),
        _between_devices(both, (first, second)),
        _tail(both[:, first.worth() <= _FINE * first.sd()]),
        _shape(both),
    ]
    return [fault for family in families for fault in list(family)[:_SHOWN]]


def _two_sided(low: Matrix, high: Matrix) -> Matrix:
    return np.minimum(1.0, 2.0 * np.minimum(low, high))


def _scatter(Z: Matrix, names: list[str]) -> Iterator[str]:
    """The noise of each number, around the place where it must be."""
    squares = (Z * Z).sum(axis=0)
    law = stats.chi2(len(Z))
    chances = _two_sided(law.cdf(squares), law.sf(squares))
    for index in _significant(chances):
        sd = math.sqrt(squares[index] / len(Z))
        yield f"{names[index]}: its noise has {sd:.3g} of its sd{_chance(chances[index])}"


def _pooled_scatter(Z: Matrix, side: Side) -> Iterator[str]:
    """The noise of each block: many numbers see a fault that one of them does not."""
    blocks = []
    start = 0
    for law in side.dense():
        for block in law.stage.blocks:
            if block.size:
                blocks.append((f"{block.name} of the {law.stage.name} report", start, block.size))
                start += block.size
    for name, begin, size in blocks:
        values = Z[:, begin : begin + size]
        law = stats.chi2(values.size)
        total = float((values * values).sum())
        chance = min(1.0, 2.0 * min(law.cdf(total), law.sf(total)))
        if chance < _LEVEL / len(blocks):
            sd = math.sqrt(total / values.size)
            yield f"{name}: the noise has {sd:.3g} of its sd{_chance(chance)}"


def _centres(sides: tuple[Matrix, Matrix], names: list[str]) -> Iterator[str]:
    """The numbers scatter around the sums of the clipped records."""
    for Z in sides:
        away = Z.mean(axis=0)
        chances = 2.0 * stats.norm.sf(np.abs(away) * math.sqrt(len(Z)))
        for index in _significant(chances, comparisons=2 * len(chances)):
            yield f"{names[index]}: {away[index]:+.3g} sd from its place{_chance(chances[index])}"


def _pooled_centres(*sides: Matrix) -> Iterator[str]:
    """All numbers together, for a shift that is too small for any of them."""
    for Z in sides:
        away = float((Z.mean(axis=0) ** 2).sum())
        chance = float(stats.chi2.sf(len(Z) * away, Z.shape[1]))
        if chance < _LEVEL / 2:
            yield f"the numbers are {math.sqrt(away):.3g} sd from their place{_chance(chance)}"


def _canary(Z: Matrix, Y: Matrix, shift: Matrix) -> Iterator[str]:
    """The two streams differ by as much as they may, along the canary and in its signs."""
    away = Z.mean(axis=0) - Y.mean(axis=0)
    spread = math.sqrt(1.0 / len(Z) + 1.0 / len(Y))
    for what, direction in (("canary", shift), ("signs of the canary", np.sign(shift))):
        length = float(np.linalg.norm(direction))
        if length > 0.0:
            moved = float(away @ direction) / length
            chance = 2.0 * float(stats.norm.sf(abs(moved) / spread))
            if chance < _LEVEL / 2:
                yield f"the {what} moves the numbers by {moved:+.3g} sd too much{_chance(chance)}"


def _shared(Z: Matrix, names: list[str], rng: np.random.Generator) -> Iterator[str]:
    """No two numbers of a device share their noise, in whatever reports they are."""
    size = Z.shape[1]
    chosen = np.sort(rng.permutation(size)[:_SEVERAL])
    r = _correlations(Z[:, chosen])
    one, other = np.triu_indices(len(chosen), 1)
    chances = _chances_of(r[one, other], len(Z))
    for index in _significant(chances):
        pair = f"{names[chosen[one[index]]]} and {names[chosen[other[index]]]}"
        value = r[one[index], other[index]]
        yield f"{pair}: the noise is correlated by {value:+.3g}{_chance(chances[index])}"


def _between_devices(Z: Matrix, sides: tuple[Side, Side]) -> Iterator[str]:
    """No two devices share their noise: none is repeated, and neighbours are independent."""
    for side in sides:
        different = len(np.unique(side.integers(), axis=0))
        if Z.shape[1] >= _TELLING and different < len(side.runs):
            yield f"{len(side.runs)} devices with the same records send {different} reports"
    pairs = len(Z) // 2
    both = np.stack([Z[0 : 2 * pairs : 2].ravel(), Z[1 : 2 * pairs : 2].ravel()], axis=1)
    r = float(_correlations(both)[0, 1])
    chance = float(_chances_of(np.array([r]), len(both))[0])
    if chance < _LEVEL:
        yield f"the noise of one device tells {r:+.3g} of that of the next{_chance(chance)}"


def _tail(Z: Matrix) -> Iterator[str]:
    """As many numbers far out as there must be; a cell further, so that rounding is no excuse."""
    far = _TAIL_SIGMAS + _FINE
    seen = int((np.abs(Z) > far).sum())
    law = stats.binom(Z.size, 2.0 * stats.norm.sf(far))
    chance = min(1.0, 2.0 * min(law.cdf(seen), law.sf(seen - 1)))
    if chance < _LEVEL:
        yield f"{seen} numbers beyond {far:.3g} sd instead of {law.mean():.1f}{_chance(chance)}"


def _shape(Z: Matrix) -> Iterator[str]:
    """The distribution as a whole, by the inequality of Dvoretzky, Kiefer and Wolfowitz."""
    distance = float(stats.kstest(Z.ravel(), "norm", method="asymp").statistic)
    chance = min(1.0, 2.0 * math.exp(-2.0 * Z.size * distance * distance))
    if chance < _LEVEL:
        yield f"the noise is not normal: its distribution is off by {distance:.3g}{_chance(chance)}"


def _correlations(Z: Matrix) -> Matrix:
    away = Z - Z.mean(axis=0)
    lengths = np.sqrt((away * away).sum(axis=0))
    return np.asarray(away.T @ away / np.maximum(np.outer(lengths, lengths), 1e-300))


def _chances_of(r: Matrix, count: int) -> Matrix:
    """Of correlations that independent normals would have: Student's law, exactly."""
    inside = np.clip(np.abs(r), 0.0, 1.0 - 1e-12)
    t = inside * np.sqrt((count - 2) / (1.0 - inside * inside))
    return np.asarray(2.0 * stats.t.sf(t, count - 2))


def _significant(chances: Matrix, comparisons: int | None = None) -> Integers:
    """Those that are too rare for luck among so many, the rarest first."""
    order = np.argsort(chances, kind="stable")
    return np.asarray(order[chances[order] < _LEVEL / (comparisons or max(1, len(chances)))])


def _chance(value: float) -> str:
    return f" (by chance: {max(float(value), 1e-300):.0e})"
