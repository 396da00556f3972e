"""The rounded Gaussian: the only noise that protects what a device publishes.

Sums are exact integers. What is published of a sum `v` is `floor(v/step + (sd/step) z + 1/2)` with
`z` standard normal: the real Gaussian mechanism followed by rounding to a public step of about
`sd/8`, which is post-processing. Noise and rounding are one operation, so that the last bits of a
float never carry data (Mironov 2012), and the sampler has to place only about eight boundaries per
standard deviation.

`z` comes from a random sign and the inverse normal of a tail probability with 53 significant bits.
That is not quite normal; docs/privacy.md, lemma 3, bounds how far off it is, in total variation
(`sampling_error`) and, up to `FAR_SIGMAS` standard deviations, in the probability of every single
outcome (`RELATIVE_ERROR`). The task pays for both.
"""

from __future__ import annotations

import hashlib
import math
import os
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.privacy.normal import SIGNIFICANT_BITS, WORD_BYTES

RESOLUTION = 8  # published values are rounded to between 1/8 and 1/16 of their noise
# What only sums are made of, with other noise, is rounded to between 1/2 and 1/4 of its own.
RESOLUTION_OF_SHARED = 2
# Needs a relative error of `inv_cdf` of at most 8 2^-53; a search found no more than 5.6.
_ARITHMETIC = 18.0 * 2.0**-53
FAR_SIGMAS = 10.0
FAR_MASS = 2.0**-75  # more than the probability of a normal beyond FAR_SIGMAS
# Of the probability of any outcome up to FAR_SIGMAS, for ratios from 1/13 to 16.
RELATIVE_ERROR = 2.0**-40


def sampling_error(ratio: float, bits: int = SIGNIFICANT_BITS) -> float:
    """Bound on the total variation between one sampled value and the exact rounded Gaussian.

    With `ratio = sd/step`. The first term is the tail probability of `bits` significant bits, the
    second one all arithmetic after it. Holds for ratios of at least 1, and of at least 1/16 where
    `step` is 1, because then the values are whole.
    """
    return (ratio + 1.0) * (2.0 * 2.0**-bits + _ARITHMETIC)


def values_charged(ratio: float) -> int:
    """As how many values of a ratio of up to 16 the sampler's error in one of this ratio counts.

    Both bounds of lemma 3 grow no faster than the ratio.

    >>> values_charged(3.9), values_charged(4.0 * 100**0.5)
    (1, 3)
    """
    return max(1, math.ceil(ratio / (2.0 * RESOLUTION)))


class Noise(ABC):
    """A source of rounded Gaussian noise. `cryptographic` tells whether it may protect anybody."""

    cryptographic: ClassVar[bool] = False

    @abstractmethod
    def normals(self, count: int) -> Matrix:
        """`count` standard normals."""

    def for_stage(self, name: str) -> Noise:
        """The source for one stage of a device; each stage needs noise of its own."""
        return self

    def perturb(self, values: Matrix, sd: float, step: int) -> Integers:
        """`floor(values/step + (sd/step) z + 1/2)` of whole `values`; `step` is a power of two."""
        whole = np.floor(values / step)
        fraction = values / step - whole  # both exact: integers below 2^53 and a power of two
        z = self.normals(values.size).reshape(values.shape) if sd > 0.0 else 0.0
        return (whole + np.floor(fraction + (sd / step) * z + 0.5)).astype(np.int64)


class NoiseOfBytes(Noise):
    """Noise whose normals are made of random bytes."""

    @abstractmethod
    def _bytes(self, count: int) -> bytes: ...

    def normals(self, count: int) -> Matrix:
        """`count` independent standard normals."""
        from fsir.privacy.normal.words import normals_of

        return normals_of(self._bytes(WORD_BYTES * count))


class SystemNoise(NoiseOfBytes):
    """Noise from the operating system's cryptographic generator.

    It is the only one that an agent accepts.

    Examples
    --------
    >>> import numpy as np
    >>> import fsir
    >>> fsir.SystemNoise.cryptographic
    True
    >>> fsir.SystemNoise().perturb(np.zeros(3), sd=100.0, step=8).shape
    (3,)
    """

    cryptographic = True

    def _bytes(self, count: int) -> bytes:
        return os.urandom(count)


class SeededNoise(NoiseOfBytes):
    """Reproducible noise for simulations.

    Whoever knows the seed can subtract it, so it protects nobody.

    Parameters
    ----------
    seed
        The same seed and labels give the same noise on every machine.
    *labels
        Tell sources of the same seed apart, such as the devices of a simulation.

    Examples
    --------
    >>> import numpy as np
    >>> import fsir
    >>> fsir.SeededNoise(1, "device 7").perturb(np.array([1000.0, 2000.0]), sd=80.0, step=8)
    array([128, 252])
    """

    def __init__(self, seed: int, *labels: str) -> None:
        self._seed = seed
        self._labels = labels
        self._key = "\0".join((str(seed), *labels)).encode()
        self._draws = 0

    def for_stage(self, name: str) -> SeededNoise:
        """Noise that depends on the stage, not on what was drawn before.

        A device that has crashed draws the same again.
        """
        return SeededNoise(self._seed, *self._labels, name)

    def _bytes(self, count: int) -> bytes:
        self._draws += 1
        return hashlib.shake_128(self._key + b"\0" + self._draws.to_bytes(8, "big")).digest(count)
