"""Hostile bytes from one seed: damaged messages, valid msgpack that makes no sense, and noise."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import msgpack

NUMBERS = (0, 1, -1, 2**31, 2**53, 2**63 - 1, 2**64 - 1, -(2**63))
FRACTIONS = (0.0, -0.0, 1.5, 1e308, float("nan"), float("inf"))
TEXTS = ("", "a", "x" * 300, "\x00", "+", "#", "$SYS", "../../etc", "\u202e", "\U0001f600")
BYTES = (b"", b"\xff" * 16, b"\x00" * 32, b"\x00" * 5000)
NESTED: tuple[Any, ...] = ([], {}, [[]], [0] * 1000, {"a": {"a": {}}})
STRANGE = (msgpack.ExtType(5, b"x"), "counted", msgpack.Timestamp(1, 2))
WORDS = ("final", "screening", "refused", "report", "task")
SINGLE = (None, True, False)
HOSTILE = (*SINGLE, *NUMBERS, *FRACTIONS, *TEXTS, *BYTES, *NESTED, *STRANGE, *WORDS)


class Mutator:
    """Makes one hostile payload after the other."""

    def __init__(
        self, rng: random.Random, corpus: Sequence[bytes], limit: int, names: Sequence[str] = ()
    ) -> None:
        self._rng = rng
        self._corpus = corpus
        self._limit = limit
        self._hostile = (*HOSTILE, *names)
        self._ways: dict[Callable[[], bytes], int] = {  # and how often each is taken
            self._bytes: 40,
            self._fields: 40,
            self._noise: 8,
            self._nonsense: 8,
            self._splice: 3,
            self._deep: 1,
        }

    def payload(self) -> bytes:
        """The next one; never one of the corpus."""
        while True:
            # Too long ones cost most to make, and one in two hundred is plenty.
            if self._rng.random() < 0.005:
                return self._oversized()
            (way,) = self._rng.choices(list(self._ways), list(self._ways.values()))
            made = way()
            if made not in self._corpus:
                return made

    def _bytes(self) -> bytes:
        """A few bytes changed, removed, doubled or cut off."""
        raw = bytearray(self._rng.choice(self._corpus))
        for _ in range(self._rng.choice((1, 1, 1, 2, 4, 16))):
            at = self._rng.randrange(len(raw) + 1)
            kind = self._rng.randrange(6)
            if kind == 0 and at < len(raw):
                raw[at] ^= 1 << self._rng.randrange(8)
            elif kind == 1 and at < len(raw):
                raw[at] = self._rng.choice(
                    (0, 0x7F, 0x80, 0xFF, 0xC0, 0xDF, 0xDD, 0xC6, self._rng.randrange(256))
                )
            elif kind == 2:
                raw[at:at] = self._rng.randbytes(self._rng.choice((1, 1, 4, 64)))
            elif kind == 3:
                del raw[at : at + self._rng.choice((1, 2, 8, 64))]
            elif kind == 4:
                raw[at:at] = raw[at : at + 32]
            else:
                del raw[at:]
        return bytes(raw)

    def _fields(self) -> bytes:
        """The right structure with something hostile in it."""
        table = msgpack.unpackb(self._rng.choice(self._corpus), strict_map_key=False)
        for _ in range(self._rng.choice((1, 1, 1, 2, 3))):
            table = self._changed(table)
        return self._packed(table)

    def _changed(self, value: Any) -> Any:
        rng = self._rng
        if isinstance(value, dict) and value and rng.random() < 0.9:
            key = rng.choice(list(value))
            kind = rng.randrange(8)
            if kind == 0:
                return {k: v for k, v in value.items() if k != key}
            if kind == 1:
                return {**value, rng.choice(("extra", "v", "kind", "")): rng.choice(self._hostile)}
            if kind == 2:
                return {
                    (key + "x" if isinstance(key, str) and k == key else k): v
                    for k, v in value.items()
                }
            return {**value, key: self._changed(value[key])}
        if isinstance(value, list) and value and rng.random() < 0.8:
            at = rng.randrange(len(value))
            kind = rng.randrange(6)
            if kind == 0:
                return value[:at] + value[at + 1 :]
            if kind == 1:
                return [*value[:at], rng.choice(self._hostile), *value[at:]]
            return [*value[:at], self._changed(value[at]), *value[at + 1 :]]
        if isinstance(value, bytes) and value and rng.random() < 0.7:
            at = rng.randrange(len(value))
            return value[:at] + bytes([value[at] ^ (1 << rng.randrange(8))]) + value[at + 1 :]
        if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.7:
            return rng.choice((value + 1, value - 1, -value, value * 2, value << 20, 0))
        return rng.choice(self._hostile)

    def _noise(self) -> bytes:
        return self._rng.randbytes(self._rng.choice((0, 1, 2, 7, 33, 200, 2000)))

    def _nonsense(self) -> bytes:
        """Valid msgpack without meaning."""

        def make(depth: int) -> Any:
            kind = self._rng.randrange(4 if depth else 2)
            if kind == 2:
                return [make(depth - 1) for _ in range(self._rng.randrange(5))]
            if kind == 3:
                keys = ("v", "kind", "task", "device", "n", "blocks", 0, None)
                return {
                    self._rng.choice(keys): make(depth - 1) for _ in range(self._rng.randrange(6))
                }
            return self._rng.choice(self._hostile)

        return self._packed(make(4))

    def _splice(self) -> bytes:
        first = self._rng.choice(self._corpus)
        second = self._rng.choice(self._corpus)
        start = first[: self._rng.randrange(len(first) + 1)]
        return start + second[self._rng.randrange(len(second) + 1) :]

    def _deep(self) -> bytes:
        """Lists or maps inside each other, deeper than anyone should follow."""
        depth = self._rng.choice((20, 600, 5000))
        return self._rng.choice((b"\x91", b"\x81\xa1a", b"\xdc\x00\x01")) * depth + b"\xc0"

    def _oversized(self) -> bytes:
        body = bytes(self._limit + self._rng.choice((1, 100)))
        as_bytes = b"\xc6" + len(body).to_bytes(4, "big") + body
        return self._rng.choice((body, as_bytes, b"\x81\xa1v" + body))

    @staticmethod
    def _packed(value: Any) -> bytes:
        try:
            raw: bytes = msgpack.packb(value, strict_types=False)
        except (OverflowError, TypeError, ValueError, UnicodeEncodeError):
            return b"\xc1"  # it cannot even be written: the one code that msgpack never uses
        return raw
