"""Two shares of a vector, each of which is uniform by itself.

The helper's share is a seed of 32 bytes, which AES-256 in counter mode expands to a vector `a`; the
leader's is `u - a`. A seed is used for one vector only, so that the counter may start at 0.
"""

from __future__ import annotations

import os

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from fsir.arrays import Integers
from fsir.errors import MessageError
from fsir.secure.ring import Residues, Ring

SEED_BYTES = 32
_FIRST_COUNTER = bytes(16)


def expanded(ring: Ring, seed: bytes) -> Residues:
    """The helper's share: what its seed stands for."""
    if len(seed) != SEED_BYTES:
        raise MessageError(f"a seed of {len(seed)} bytes: {SEED_BYTES} are expected")
    stream = Cipher(algorithms.AES256(seed), modes.CTR(_FIRST_COUNTER)).encryptor()
    return ring.unpack(stream.update(bytes(ring.length)))


def split(ring: Ring, values: Integers, seed: bytes | None = None) -> tuple[bytes, bytes]:
    """The payloads for leader and helper; a `seed` is given in simulations alone."""
    seed = os.urandom(SEED_BYTES) if seed is None else seed
    share = ring.difference(ring.residues(values), expanded(ring, seed))
    return ring.pack(share), seed
