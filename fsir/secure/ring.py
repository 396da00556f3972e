"""Whole numbers modulo 2^bits, in which shares are uniform and sums cannot wrap.

The rule is public and depends on the task alone. With n records in a report, a published integer
of a device is at most

    n extent / worth + MOST_SIGMAS sd / worth + 1

from 0, where `extent` is what one record can add to a sum, and each aggregator adds noise of at
most `MOST_SIGMAS added / worth + 1`; noise that is correlated over rounds reaches as many times as
far as its coefficients add up to. A ring is wide enough if what `MOST_IN_COHORT` devices and two
aggregators can add up to is below half of it: then the centred residue *is* the sum. The narrowest
of `WIDTHS` is taken. Devices that lie can make a sum wrap, as they can make it anything else.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Integers
from fsir.errors import MessageError, TaskError
from fsir.limits import MOST_IN_COHORT
from fsir.privacy.plan import Stage, report_size
from fsir.task.task import Task

Residues: TypeAlias = NDArray[np.uint64]

WIDTHS = (32, 48, 64)  # bits
MOST_SIGMAS = 13.2  # no word of the sampler stands for a normal that is farther out
_WORD_BYTES = 8


class Ring(NamedTuple):
    """Vectors of `size` whole numbers modulo 2^bits.

    >>> ring = Ring(32, 2)
    >>> ring.lift(ring.added([ring.residues(np.array([5, -7])), ring.residues(np.array([-6, 2]))]))
    array([-1, -5])
    """

    bits: int
    size: int

    @property
    def length(self) -> int:
        """Bytes that a vector takes."""
        return self.size * self.bits // 8

    def residues(self, values: Integers) -> Residues:
        """The residues of whole numbers."""
        return self._reduced(values.astype(np.uint64))

    def added(self, vectors: list[Residues]) -> Residues:
        """The sum of vectors of residues; of none, zero."""
        total = np.zeros(self.size, np.uint64)
        for vector in vectors:
            total += vector  # wraps at 2^64, which every width divides
        return self._reduced(total)

    def difference(self, one: Residues, other: Residues) -> Residues:
        """One vector of residues less another."""
        return self._reduced(one - other)

    def lift(self, residues: Residues) -> Integers:
        """The whole numbers from -2^(bits-1) to 2^(bits-1) - 1 with these residues."""
        unused = np.uint64(64 - self.bits)
        # To the top of the word and back, which copies the sign.
        return (residues << unused).view(np.int64) >> unused.astype(np.int64)

    def pack(self, residues: Residues) -> bytes:
        """Little-endian bytes, `bits / 8` for each residue."""
        wide = residues.astype("<u8").view(np.uint8).reshape(self.size, _WORD_BYTES)
        return wide[:, : self.bits // 8].tobytes()

    def unpack(self, raw: bytes) -> Residues:
        """The residues that `pack` was given; any bytes of the right length are some."""
        if len(raw) != self.length:
            raise MessageError(f"{len(raw)} bytes: a vector of this stage has {self.length}")
        wide = np.zeros((self.size, _WORD_BYTES), np.uint8)
        wide[:, : self.bits // 8] = np.frombuffer(raw, np.uint8).reshape(self.size, self.bits // 8)
        return wide.reshape(-1).view("<u8").astype(np.uint64)

    def _reduced(self, words: Residues) -> Residues:
        return words & np.uint64(2**self.bits - 1)


def ring_of(task: Task, stage: Stage) -> Ring:
    """The ring of a stage: the narrowest in which no honest cohort wraps."""
    largest = largest_sum(task, stage)
    for bits in WIDTHS:
        if largest < 2.0 ** (bits - 1):
            return Ring(bits, sum(stage.sizes))
    remedy = (
        f"sums of {MOST_IN_COHORT} devices could reach {largest:.1e} steps, more than "
        f"{WIDTHS[-1]} bits hold; ask for fewer records"
    )
    raise TaskError("report.records", report_size(task), remedy)


def largest_sum(task: Task, stage: Stage) -> float:
    """How far from 0 an opened number of an honest cohort can be at most, in published steps."""
    n = report_size(task)
    reach = min(stage.truncate, stage.norm)
    extents = (reach, 1.0, reach * reach, reach * reach)
    sigmas = MOST_SIGMAS * sum(abs(b) for b in stage.factorisation.coefficients)
    return max(
        MOST_IN_COHORT * ((n * extent + sigmas * block.sd) / block.worth + 1.0)
        + 2.0 * (sigmas * block.added / block.worth + 1.0)
        for block, extent in zip(stage.blocks, extents, strict=True)
    )
