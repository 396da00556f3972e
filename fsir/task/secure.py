"""The section `[secure]` of a task: two aggregators, of whom one alone learns nothing.

A report goes to both in shares, and only sums over at least `cohort` devices are ever opened
(docs/privacy.md, theorem 15). The keys stand in the task, so that its digest pins them.
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

LEADER = "leader"  # proposes what is opened, and makes the estimate
HELPER = "helper"  # opens nothing twice, and nothing of too few
ROLES = (LEADER, HELPER)
EXCHANGE_BYTES = 32  # X25519, to which shares are sealed
SIGNING_BYTES = 32  # Ed25519, by which an aggregator's own messages are known
PUBLIC_BYTES = EXCHANGE_BYTES + SIGNING_BYTES
_FIELD = 2**255 - 19  # Curve25519: v^2 = u^3 + A u^2 + u
_A = 486662


class Party(NamedTuple):
    """One of the two aggregators: `key` is the public half of its pair, as base64 text."""

    name: str
    key: str

    @property
    def exchange_key(self) -> bytes:
        """The X25519 key to which devices seal its shares."""
        return base64.b64decode(self.key)[:EXCHANGE_BYTES]

    @property
    def signing_key(self) -> bytes:
        """The Ed25519 key that its messages to the other one are signed with."""
        return base64.b64decode(self.key)[EXCHANGE_BYTES:]


class Secure(NamedTuple):
    """Who aggregates, and over how many devices at least.

    Devices belong to one of `groups` by their names; each group is opened by itself, and the groups
    are trimmed, so that a liar spoils its own group alone.
    """

    leader: Party
    helper: Party
    cohort: int
    groups: int = 1

    def party(self, role: str) -> Party:
        """Who has this role."""
        return self.leader if role == LEADER else self.helper


def hides_nothing(exchange_key: bytes) -> bool:
    """Whether all secrets shared with this X25519 key are zero: eight times its point is none.

    >>> hides_nothing(bytes(32)), hides_nothing(bytes([9]) + bytes(31))
    (True, False)
    """
    x = int.from_bytes(exchange_key, "little") % 2**255
    z = 1
    for _ in range(3):  # doubled, as x / z
        x, z = (x * x - z * z) ** 2 % _FIELD, 4 * x * z * (x * x + _A * x * z + z * z) % _FIELD
    return z == 0


def public_half(text: str) -> bytes | None:
    """The bytes of a public key in its one form as text; None if it is none."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    fits = len(raw) == PUBLIC_BYTES and base64.b64encode(raw).decode() == text
    return raw if fits else None
