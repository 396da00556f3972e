"""The slices of whole arrays of labels, found by arithmetic instead of by comparing texts.

Some characters of a label, taken as whole numbers, are mixed into one number; its upper bits are
the place of the label in a table; the mixture is chosen so that no two classes have the same place.
A label is the class that stands there, or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from hashlib import shake_128
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fsir.arrays import Integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNKNOWN = -1  # the slice of a response that the task does not know
MOST_CLASSES = 64  # whose table is small, and found after a few tries
Codes: TypeAlias = "NDArray[np.uint32]"  # labels x characters


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
        self._characters = max(1, *map(len, classes))
        self.dtype = np.dtype(f"U{self._characters}")
        self._codes = self._codes_of(np.array(classes, self.dtype))
        self._telling = _telling(self._codes)
        bits = 2 * len(classes).bit_length()
        self._shift = np.uint32(32 - bits)
        self._mixture = next(filter(self._tells_apart, _mixtures(self._characters)))
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
        codes: Codes = np.ascontiguousarray(labels).view(np.uint32)
        return codes.reshape(len(labels), self._characters)

    def _places(self, codes: Codes) -> Codes:
        return self._places_by(self._mixture, codes)

    def _places_by(self, mixture: Codes, codes: Codes) -> Codes:
        mixed: Codes = reduce(np.add, [codes[:, k] * mixture[k] for k in self._telling])
        mixed >>= self._shift
        return mixed

    def _tells_apart(self, mixture: Codes) -> bool:
        return len(set(self._places_by(mixture, self._codes).tolist())) == len(self._codes)


def _telling(codes: Codes) -> list[int]:
    """The characters that are mixed: a few that together differ from class to class."""

    def told(chosen: list[int]) -> int:
        return len(set(map(tuple, codes[:, chosen].tolist())))

    telling = [max(range(codes.shape[1]), key=lambda k: told([k]))]
    while told(telling) < len(codes):
        telling.append(max(range(codes.shape[1]), key=lambda k: told([*telling, k])))
    return telling


def _mixtures(characters: int) -> Iterator[Codes]:
    """Numbers that look random, and are the same on every machine."""
    for attempt in count():
        yield np.frombuffer(shake_128(str(attempt).encode()).digest(4 * characters), "<u4")
