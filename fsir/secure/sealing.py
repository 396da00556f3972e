"""Sealing a payload to one key, so that nobody else reads it and it opens in one place only.

HPKE (RFC 9180) with X25519, HKDF-SHA256 and ChaCha20-Poly1305. What the payload belongs to goes
into `info`, and with it into the key: under any other heading it does not open.
"""

from __future__ import annotations

import msgpack
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from fsir.errors import MessageError
from fsir.wire.messages import VERSION
from fsir.wire.shared import Shared

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
_LABEL = "fsir share"


def context(report: Shared, role: str, active: tuple[int, ...] | None = None) -> bytes:
    """What the share for this role is bound to: everything about the report but its shares.

    Where the layout follows an `active` set, that too: an aggregator that was shown another one
    would add the noise of another layout.
    """
    places = [report.task, report.stage, report.round, report.device, report.id, report.n]
    layout = [] if active is None else [active]
    raw: bytes = msgpack.packb([_LABEL, VERSION, role, *places, *layout])
    return raw


def seal(key: bytes, payload: bytes, info: bytes) -> bytes:
    """The payload for the owner of a public key, `OVERHEAD_BYTES` longer."""
    try:
        return _SUITE.encrypt(payload, X25519PublicKey.from_public_bytes(key), info)
    except ValueError:  # a point of small order, with which nothing would be secret
        raise MessageError(
            f"key {key.hex()}: nothing can be sealed to it; the task needs one from `keys new`"
        ) from None


def unseal(key: X25519PrivateKey, sealed: bytes, info: bytes) -> bytes:
    """What was sealed for this place; `MessageError` for anything else."""
    try:
        return _SUITE.decrypt(sealed, key, info)
    except (InvalidTag, ValueError):
        raise MessageError(
            "a share that does not open: it was sealed to another key, or for another place"
        ) from None
