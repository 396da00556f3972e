"""The worst report that validation lets through, found by search.

All liars send the same report. They know the task, the law of the data and the aggregation, but not
the noise of the others: the report is made on simulated federations and tried on new ones. From a
few starting points the search follows the gradient of the mean loss: the next report is the extreme
one in that direction that still passes (`fsir.wire.plausible`), or a mixture with the present one.
What it finds is a lower bound on the worst.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fsir.arrays import Flags, Matrix
from fsir.privacy.plan import Stage
from fsir.wire.plausible import Plausibility
from sim_devices.poison.aggregation import Aggregation
from sim_devices.poison.outcome import Estimator, loss
from sim_devices.poison.population import Draw

_HALVINGS = 24
_MIXTURES = (1.0, 0.5, 0.2)


class Admission:
    """What validation lets through; the set is convex and holds the mean honest report."""

    def __init__(self, stage: Stage, n: int, honest: Matrix) -> None:
        self._tests = Plausibility(stage)
        self._n = n
        self.honest = np.rint(honest)
        self.blocks = stage.spans

    def passes(self, rows: Matrix) -> Flags:
        """Whether each row would be merged."""
        faults = self._tests.faults(np.full(len(rows), self._n), np.rint(rows).astype(np.int64))
        return np.array([i not in faults for i in range(len(rows))])

    def extreme(self, direction: Matrix, centre: Matrix) -> Matrix:
        """As far from `centre` in `direction` as passes, block by block;
        where the centre fails, from the mean."""
        row = self.honest.copy()
        for block in self.blocks:
            if not np.any(direction[block]):
                continue
            for start in (centre, self.honest):
                trial = row.copy()
                trial[block] = start[block]
                if self.passes(trial[None])[0]:
                    break
            step = np.zeros_like(row)
            step[block] = direction[block] / np.abs(direction[block]).max()
            row = trial + self._reach(trial, step) * step
        return np.asarray(np.rint(row))

    def _reach(self, row: Matrix, step: Matrix) -> float:
        low = 0.0
        high = 1.0
        while high < 2.0**50 and self.passes((row + high * step)[None])[0]:
            low, high = high, 2.0 * high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if self.passes((row + middle * step)[None])[0]:
                low = middle
            else:
                high = middle
        # Rounding is not monotone.
        while low > 0.0 and not self.passes((row + low * step)[None])[0]:
            low = max(low - 1.0, 0.0)
        return low


class Search:
    """Looks for the report that does most harm when `liars` of the devices send it."""

    def __init__(
        self,
        draws: Sequence[Draw],
        liars: int,
        aggregate: Aggregation,
        estimate: Estimator,
        admission: Admission,
    ) -> None:
        self._truth = np.stack([draw.truth for draw in draws])
        self._honest = np.stack([draw.rows[liars:] for draw in draws])
        # Nobody can choose its group: liars sit at random places.
        places = np.random.default_rng(liars)
        self._order = np.stack([places.permutation(len(draw.rows)) for draw in draws])[:, :, None]
        self._liars = liars
        self._aggregate = aggregate
        self._estimate = estimate
        self._admission = admission
        # A step of the numerical gradient: a little of what noise leaves in the mean of all
        # devices.
        spread = np.maximum(self._honest.std(axis=-2).mean(axis=0), 1.0)
        self._small = 0.2 * spread / estimate.devices**0.5

    def merged(self, report: Matrix) -> Matrix:
        """The mean report of all devices in every draw, when the liars send this."""
        lies = np.broadcast_to(report, (len(self._honest), self._liars, len(report)))
        rows = np.concatenate([self._honest, lies], axis=-2)
        return self._aggregate(np.take_along_axis(rows, self._order, axis=-2))

    def harm(self, report: Matrix) -> float:
        """The mean loss."""
        return float(loss(self._estimate(self.merged(report)), self._truth).mean())

    def gradient(self, report: Matrix) -> Matrix:
        """Of the mean loss, by the mean report's coordinates."""
        mean = self.merged(report)[:, None, :]
        steps = np.diag(self._small)
        up, down = (
            loss(self._estimate(mean + s * steps), self._truth[:, None]) for s in (1.0, -1.0)
        )
        return np.asarray(((up - down) / (2.0 * self._small)).mean(axis=0))

    def run(self, rng: np.random.Generator, starts: int, rounds: int) -> Matrix:
        """The worst report found."""
        best = self._admission.honest
        most = self.harm(self._admission.honest)
        for start in self._starts(rng, starts):
            report = start
            harm = self.harm(start)
            for _ in range(rounds):
                tried = {self.harm(candidate): candidate for candidate in self._candidates(report)}
                if max(tried, default=0.0) <= harm * (1.0 + 1e-4):
                    break
                harm = max(tried)
                report = tried[harm]
            if harm > most:
                best = report
                most = harm
        return best

    def _starts(self, rng: np.random.Generator, count: int) -> Iterator[Matrix]:
        yield self._admission.honest
        sums = self._admission.blocks[0]
        truth = np.linalg.qr(self._truth.mean(axis=0))[0]
        columns = (sums.stop - sums.start) // len(truth)
        for _ in range(count - 1):  # plant a direction that is not there, in random slices
            v = rng.standard_normal(len(truth))
            v -= truth @ (truth.T @ v)
            pattern = rng.standard_normal(columns)
            direction = np.zeros(len(self._admission.honest))
            direction[sums] = np.outer(v, pattern - pattern.mean()).reshape(-1)
            yield self._admission.extreme(direction, np.zeros_like(direction))

    def _candidates(self, report: Matrix) -> Iterator[Matrix]:
        gradient = self.gradient(report)
        nothing = np.zeros_like(report)
        noise = self._small  # proportional to the noise of each coordinate
        # The extreme of a ball, and that of a box.
        linear = self._admission.extreme(gradient, nothing)
        corner = self._admission.extreme(np.sign(gradient) * noise, self._admission.honest)
        both = linear.copy()
        for block in self._admission.blocks[1:]:
            both[block] = corner[block]
        made = [
            part * extreme + (1.0 - part) * report
            for extreme in (linear, corner, both)
            for part in _MIXTURES
        ]
        rows = np.rint(np.stack(made))
        yield from rows[self._admission.passes(rows)]
