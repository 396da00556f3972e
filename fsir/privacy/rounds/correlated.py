"""The noise of a round: normals of its own, and part of those of the rounds before.

All of them are drawn again whenever a round is made, from a secret `key` that the device keeps
beside its ledger, fresh bytes for each round: whoever knows it can subtract the noise. Who has lost
it makes no further round.
`fsir.privacy.rounds.factorisation` has the coefficients, docs/privacy.md the proof (theorem 13).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import numpy as np

from fsir.arrays import Matrix
from fsir.privacy.noise import Noise, NoiseOfBytes, SeededNoise
from fsir.privacy.plan import Stage

KEY_BYTES = 32  # for each round


class KeyedNoise(NoiseOfBytes):
    """Noise that its secret key alone determines: that of one round, drawn as often as needed.

    It is as good as random to whoever does not have the key, if SHAKE-256 is.
    """

    cryptographic = True

    def __init__(self, key: bytes, *labels: str) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key of {len(key)} bytes: it must have {KEY_BYTES}")
        self._key = key + "\0".join(labels).encode()
        self._draws = 0

    def _bytes(self, count: int) -> bytes:
        self._draws += 1
        return hashlib.shake_256(self._key + b"\0" + self._draws.to_bytes(8, "big")).digest(count)


class RoundNoise(Noise):
    """The noise of a round: `b_0 z_t + b_1 z_(t-1) + ...`, the normals of each round a source."""

    def __init__(self, sources: Sequence[Noise], coefficients: Sequence[float]) -> None:
        self._parts = list(zip(sources, reversed(coefficients), strict=True))

    def normals(self, count: int) -> Matrix:
        """`count` values, each made of the normals of all rounds so far."""
        total = np.zeros(count)
        lost = np.zeros(count)
        for source, coefficient in self._parts:
            part = coefficient * source.normals(count)
            before = total
            total = before + part
            # What the sum has rounded off, exactly (Knuth's TwoSum): the error of many rounds is
            # that of one addition (docs/privacy.md, lemma 14).
            taken = total - before
            lost += (before - (total - taken)) + (part - taken)
        return total + lost


def round_noise(noise: Noise, stage: Stage, round: int, key: bytes = b"") -> Noise:
    """The noise for a round of a stage: fresh, or with the `key` of `key_for` if later rounds need
    it again."""
    coefficients = stage.factorisation.coefficients
    if len(coefficients) == 1:
        return noise.for_stage(_label(stage, round))
    if not 1 <= round <= len(coefficients):
        raise ValueError(f"round {round}: the noise is that of rounds 1 to {len(coefficients)}")
    rounds = range(1, round + 1)
    if isinstance(noise, SeededNoise):  # a simulation draws the same again without a key
        sources: list[Noise] = [noise.for_stage(_label(stage, t)) for t in rounds]
    else:
        sources = [KeyedNoise(_part(key, t), _label(stage, t)) for t in rounds]
    return RoundNoise(sources, coefficients[:round])


def key_for(round: int, earlier: bytes = b"") -> bytes:
    """A key for all rounds up to this one: what is there of earlier ones, and fresh bytes.

    No round has its bytes before it is made: copies of a device that both go on, which they must
    not, share the noise of the past alone.
    """
    return earlier + os.urandom(max(0, KEY_BYTES * round - len(earlier)))


def _part(key: bytes, round: int) -> bytes:
    return key[KEY_BYTES * (round - 1) : KEY_BYTES * round]


def _label(stage: Stage, round: int) -> str:
    return stage.name if round == 1 else f"{stage.name} {round}"
