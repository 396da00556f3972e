"""In which coordinates the numbers are that recognition has learned, and their way to new ones.

A new version of the subspace may show the same space by other numbers. What was learned stays on
the axes on which it was learned, and records are read on these. Only where the space has moved the
axes follow it (`turning`). Whitened coordinates are all those of the public map: whatever becomes
of the subspace, one matrix turns the old ones into the new ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from edge_agent.recognition.personal import FLOAT, Prior
from edge_agent.recognition.turning import Turn, turn
from edge_agent.recognition.whitened import Whitener, identity_of, rewhitening, whitens
from fsir.arrays import Matrix
from fsir.task.task import Task
from fsir.wire.messages import Subspace

FARTHEST = 1e9
UNLIKELY = 2.0  # times the loss that two versions of one truth are expected to have


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame:
    """The coordinates of what was learned, under one version of the subspace."""

    subspace: str  # the identity of the version
    features: bytes  # a digest of their names
    axes: Matrix  # features x dimension
    error: float  # the expected loss of the space of the axes
    reading: Matrix | None  # from coordinates of the version to those on the axes; None: the same
    whitener: Whitener | None

    @classmethod
    def first(cls, task: Task, subspace: Subspace) -> Self:
        """Whoever has learned nothing takes the coordinates as they come."""
        return cls(
            subspace=identity_of(subspace),
            features=_digest(subspace.features),
            axes=subspace.basis,
            error=subspace.expected_error,
            reading=None,
            whitener=Whitener.of(task, subspace) if whitens(task, subspace) else None,
        )

    @property
    def prior(self) -> Prior | None:
        """What the federation says about classes, in whitened coordinates."""
        return None if self.whitener is None else self.whitener.prior

    def read(self, z: list[float]) -> tuple[float, ...]:
        """The finite coordinates of a record on the axes."""
        # A broken sensor must not spoil sums.
        near = tuple(min(max(value, -FARTHEST), FARTHEST) for value in z)
        if self.reading is None:
            return near
        return tuple(np.clip(np.array(near) @ self.reading, -FARTHEST, FARTHEST).tolist())

    def step(self, task: Task, subspace: Subspace) -> Step:
        """On to another version, or to the same after a restart."""
        fresh = Frame.first(task, subspace)
        if fresh.features != self.features:
            return Step(frame=fresh)
        frame = replace(fresh, whitener=fresh.whitener or self.whitener)
        found = _turn(self.axes, subspace.basis)
        if found is not None and found.only_turned:
            frame = replace(frame, axes=self.axes, error=self.error)
        elif found is not None and found.kept.size:
            frame = replace(frame, axes=found.axes)
        if not np.array_equal(frame.axes, subspace.basis, equal_nan=True):
            # From what is stored, so that a restart finds the same bits.
            frame = replace(frame, reading=turn(frame.axes, subspace.basis).reading)
        expected = float(np.hypot(self.error, subspace.expected_error))
        return Step(
            frame=frame,
            turn=found,
            rewhitening=_between(self.whitener, frame.whitener),
            explained=found is not None and found.loss <= UNLIKELY * expected,
        )

    # --- restarts ---------------------------------------------------------------------------------

    def table(self) -> dict[str, Any]:
        """Plain values, for the state file."""
        table = {
            "subspace": self.subspace,
            "features": self.features,
            "axes": self.axes.tobytes(),
            "dimension": self.axes.shape[1],
            "error": self.error,
        }
        if self.whitener is not None:
            table["whitening"] = self.whitener.whitening.astype(FLOAT).tobytes()
            table["centres"] = self.whitener.prior.centres.tobytes()
            table["shares"] = self.whitener.prior.shares.tobytes()
        return table

    @classmethod
    def of(cls, task: Task, features: tuple[str, ...], table: Mapping[str, Any]) -> Self | None:
        """From `table`, to go on from with `step`; None if it is about other features."""
        if table["features"] != _digest(features):
            return None
        whitener = None
        if "whitening" in table:
            shares = np.frombuffer(table["shares"])
            centres = np.frombuffer(table["centres"]).reshape(len(shares), -1)
            whitening = np.frombuffer(table["whitening"], FLOAT).astype(np.float64)
            prior = Prior(classes=task.response.classes, centres=centres, shares=shares)
            square = whitening.reshape(centres.shape[1], -1)
            whitener = Whitener(task, features, square, prior)
        return cls(
            subspace=table["subspace"],
            features=table["features"],
            axes=np.frombuffer(table["axes"]).reshape(-1, table["dimension"]),
            error=table["error"],
            reading=None,
            whitener=whitener,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Step:
    """From the coordinates of one version to those of another."""

    frame: Frame  # from now on
    turn: Turn | None = None  # of the axes; None: they have nothing in common
    rewhitening: Matrix | None = None  # of whitened rows; None: what was learned there is lost
    explained: bool = False  # whether noise can have moved the space so far

    @property
    def stays(self) -> bool:
        """Whether the axes are the old ones."""
        return self.turn is not None and self.turn.only_turned

    @property
    def directions(self) -> tuple[int, int]:
        """How many of the old directions can still be read, and how many there were."""
        return (0, 0) if self.turn is None else self.turn.kept.shape[::-1]

    def words(self, goes_on: bool) -> str:
        """What has become of the subspace, and of what was learned."""
        if self.turn is None or self.stays:
            return "recognition goes on" if goes_on else "recognition starts anew"
        left, old = self.directions
        new = self.frame.axes.shape[1]
        cause = "not more" if self.explained else "more"
        moved = f"it has moved by {self.turn.degrees:.0f} degrees, {cause} than noise explains"
        if old != new:
            moved += f", and has {new} instead of {old} directions"
        if not goes_on:
            return f"{moved}; recognition starts anew"
        with_them = "" if self.rewhitening is not None else f" with {left} of its {old} directions"
        return (
            f"{moved}; the device's own classifier goes on{with_them}, the watch over distances "
            "starts anew"
        )

    def coordinates(self, z: tuple[float, ...]) -> tuple[float, ...]:
        """Coordinates of the past in those of now; NaN where nobody knows them."""
        if self.turn is None or self.turn.only_turned:
            return z
        return tuple(self.turn.carried(np.array([z]))[0].tolist())

    def whitened(self, v: bytes) -> bytes:
        """The same for whitened coordinates."""
        if self.rewhitening is None:
            return b""
        return (np.frombuffer(v, FLOAT) @ self.rewhitening).astype(FLOAT).tobytes()


def _digest(features: tuple[str, ...]) -> bytes:
    return hashlib.sha256("\0".join(features).encode()).digest()


def _turn(A: Matrix, B: Matrix) -> Turn | None:
    try:
        return turn(A, B)
    except np.linalg.LinAlgError:  # a basis of no use to anybody
        return None


def _between(old: Whitener | None, new: Whitener | None) -> Matrix | None:
    if old is None or new is None:
        return None
    return rewhitening(old.whitening, new.whitening)
