"""The rounded Gaussian: the only noise that protects what a device publishes.

Sums are exact integers. What is published of a sum `v` is `floor(v/step + (sd/step) z + 1/2)` with `z` standard
normal: the real Gaussian mechanism followed by rounding to a public step of about `sd/8`, which is post-processing.
Noise and rounding are one operation, so that the last bits of a float never carry data (Mironov 2012), and the
sampler has to place only about eight boundaries per standard deviation.

`z` comes from a random sign and the inverse normal of a tail probability with 53 significant bits. That is not quite
normal; `sampling_error` bounds the total variation distance and the task pays it out of delta (docs/privacy.md, lemma
3).
"""

from __future__ import annotations

import hashlib
import math
import os
from abc import ABC, abstractmethod
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

_INVERSE_NORMAL = NormalDist().inv_cdf
_WORD = 16  # bytes per normal: one sign bit and a tail probability down to 2^-129
SIGNIFICANT_BITS = 53


def sampling_error(ratio: float, bits: int = SIGNIFICANT_BITS) -> float:
    """Bound on the total variation between one sampled value and the exact rounded Gaussian, `ratio = sd/step`."""
    return 16.0 * (ratio + 1.0) * 2.0**-bits


def normal_of(word: int, bits: int = SIGNIFICANT_BITS) -> float:
    """The standard normal that a 128-bit word stands for; fewer `bits` exist to test the form of the error bound."""
    tail = (word | 1) / 2.0**129  # in (0, 1/2); the division rounds to 53 significant bits
    if bits < SIGNIFICANT_BITS:
        mantissa, exponent = math.frexp(tail)
        tail = min(math.ldexp(round(mantissa * 2.0**bits) / 2.0**bits, exponent), 0.5)
    z = -_INVERSE_NORMAL(tail)
    return z if word & 1 else -z


class Noise(ABC):
    """A source of rounded Gaussian noise. `cryptographic` tells whether it may protect anybody."""

    cryptographic: ClassVar[bool] = False

    @abstractmethod
    def _bytes(self, count: int) -> bytes: ...

    def normals(self, count: int) -> NDArray[np.float64]:
        """`count` independent standard normals."""
        raw = self._bytes(_WORD * count)
        words = (int.from_bytes(raw[i : i + _WORD], "little") for i in range(0, len(raw), _WORD))
        return np.fromiter((normal_of(word) for word in words), np.float64, count)

    def perturb(self, values: NDArray[np.float64], sd: float, step: int) -> NDArray[np.int64]:
        """`floor(values/step + (sd/step) z + 1/2)`; `values` are integers, `step` is a power of two."""
        whole = np.floor(values / step)
        fraction = values / step - whole  # both exact: integers below 2^53 and a power of two
        z = self.normals(values.size).reshape(values.shape) if sd > 0.0 else 0.0
        return (whole + np.floor(fraction + (sd / step) * z + 0.5)).astype(np.int64)


class SystemNoise(Noise):
    """Noise from the operating system's cryptographic generator: the only one that an agent accepts."""

    cryptographic = True

    def _bytes(self, count: int) -> bytes:
        return os.urandom(count)


class SeededNoise(Noise):
    """Reproducible noise for simulations. Whoever knows the seed can subtract it, so it protects nobody."""

    def __init__(self, seed: int, *labels: str) -> None:
        self._key = "\0".join((str(seed), *labels)).encode()
        self._draws = 0

    def _bytes(self, count: int) -> bytes:
        self._draws += 1
        return hashlib.shake_128(self._key + b"\0" + self._draws.to_bytes(8, "big")).digest(count)
