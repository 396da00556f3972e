"""The slices of whole arrays of labels, found by arithmetic instead of by comparing texts.

The characters of a label, taken as whole numbers, are mixed into one number, and its upper bits are
the place of the label in a table; the mixture is chosen so that no two classes have the same place.
A label is the class that stands there, or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from hashlib import shake_128
from itertools import count

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Integers

UNKNOWN = -1  # the slice of a response that the task does not know
MOST_CLASSES = 64  # whose table is small, and found after a few tries
Codes = NDArray[np.uint64]  # labels x pairs of characters


def has_table(classes: tuple[str, ...]) -> bool:
    """Whether there can be a table of these classes.

    Arrays of texts forget zero characters at their ends.
    """
    few = 0 < len(set(classes)) == len(classes) <= MOST_CLASSES
    return few and not any(label.endswith("\0") for label in classes)


class LabelTable:
    """Finds classes, of which no two are the same and none ends with a zero character.

    >>> LabelTable(("sit", "walk")).slices_of(np.array(["walk", "walks", "sit"]))
    array([ 1, -1,  0])
    """

    def __init__(self, classes: tuple[str, ...]) -> None:
        # Two characters make one number of 64 bits.
        self._pairs = max(1, *((len(label) + 1) // 2 for label in classes))
        self.dtype = np.dtype(f"U{2 * self._pairs}")
        self._codes = self._codes_of(np.array(classes, self.dtype))
        self._telling = self._telling_pairs()
        bits = 2 * len(classes).bit_length()
        self._shift = np.uint64(64 - bits)
        self._mixture = next(filter(self._tells_apart, _mixtures(self._pairs)))
        self._table = np.zeros(2**bits, np.int64)
        self._table[self._places(self._codes)] = np.arange(len(classes))

    def slices_of(self, labels: NDArray[np.str_]) -> Integers:
        """The slice of each label, or `UNKNOWN`."""
        short = labels.astype(self.dtype, copy=False)
        codes = self._codes_of(short)
        slices: Integers = self._table.take(self._places(codes))
        same = self._codes.take(slices, axis=0) == codes
        if not same.all():
            slices[~same.all(axis=1)] = UNKNOWN
        if labels.dtype.itemsize > self.dtype.itemsize:
            slices[short != labels] = UNKNOWN  # it goes on behind what was looked at
        return slices

    def _codes_of(self, labels: NDArray[np.str_]) -> Codes:
        codes: Codes = np.ascontiguousarray(labels).view(np.uint64)
        return codes.reshape(len(labels), self._pairs)

    def _places(self, codes: Codes) -> NDArray[np.int64]:
        return self._places_by(self._mixture, codes)

    def _places_by(self, mixture: Codes, codes: Codes) -> NDArray[np.int64]:
        mixed: Codes = reduce(np.add, [codes[:, k] * mixture[k] for k in self._telling])
        mixed >>= self._shift
        return mixed.view(np.int64)

    def _telling_pairs(self) -> range:
        """The pairs of characters that are mixed: one, if it differs from class to class."""
        for pair, column in enumerate(self._codes.T):
            if len(set(column.tolist())) == len(column):
                return range(pair, pair + 1)
        return range(self._pairs)

    def _tells_apart(self, mixture: Codes) -> bool:
        return len(set(self._places_by(mixture, self._codes).tolist())) == len(self._codes)


def _mixtures(pairs: int) -> Iterator[Codes]:
    """Numbers that look random, and are the same on every machine."""
    for attempt in count():
        yield np.frombuffer(shake_128(str(attempt).encode()).digest(8 * pairs), "<u8")
