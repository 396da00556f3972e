"""How many parts a msgpack message has, before anything is built from it.

A byte on the wire can become a hundred in memory: an empty map, or the place that a list reserves
for entries which never come. So a message of unknown origin is walked through first, with a few
integers of memory.
"""

from __future__ import annotations

# By the first byte of a part: how many bytes follow it, and for texts and lists, whose length comes
# next, how many bytes that takes. Lists of a short length have it in the first byte itself.
_SIZE = (
    [0] * 0xA0
    + [byte & 31 for byte in range(0xA0, 0xC0)]
    + [0] * 10
    + [4, 8, 1, 2, 4, 8, 1, 2, 4, 8]
    + [0] * 44
)
_LENGTH = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
_PARTS = {byte: (byte & 15) * (2 if byte < 0x90 else 1) for byte in range(0x80, 0xA0)}
# Extensions, which no message has.
_UNKNOWN = frozenset((0xC1, *range(0xC7, 0xCA), *range(0xD4, 0xD9)))
# Numbers, short texts and the like: behind the bytes that follow them comes the next part.
_PLAIN = [
    byte not in _PARTS and byte not in _LENGTH and byte not in _UNKNOWN for byte in range(256)
]


def check(raw: bytes, most: int, deepest: int) -> None:
    """`ValueError` if a message has more parts, or lists in lists, than that, or is no msgpack."""
    at = 0
    end = len(raw)
    left = 1  # parts to come in this list ...
    above: list[int] = []  # ... and in those that it is in
    while True:
        while not left:
            if not above:
                if at != end:
                    raise ValueError(f"{abs(end - at)} bytes too {'many' if at < end else 'few'}")
                return
            left = above.pop()
        left -= 1
        most -= 1
        if most < 0 or at >= end:
            raise ValueError("too many parts" if most < 0 else "cut short")
        byte = raw[at]
        at += 1 + _SIZE[byte]
        if _PLAIN[byte]:
            continue
        entries = _PARTS.get(byte)
        if (size := _LENGTH.get(byte)) is not None:
            length = int.from_bytes(raw[at : at + size], "big")
            at += size
            if byte < 0xDC:
                at += length
            else:
                entries = length * (2 if byte > 0xDD else 1)
        elif byte in _UNKNOWN:
            raise ValueError(f"type {byte:#x}, which no message has")
        if entries is not None:
            above.append(left)
            left = entries
            if len(above) > deepest:
                raise ValueError(f"lists more than {deepest} deep")
