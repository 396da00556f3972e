"""Thousands of TLS connections from one process: just enough MQTT 3.1.1 to report and to hear."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fsir.wire.decode import decode
from fsir.wire.messages import Receipt, Verdict
from tests.deploy.tools import Authority, run

HANDSHAKES_AT_ONCE = 50
KEEPALIVE_SECONDS = 3000
# The first byte of a packet.
CONNECT = 0x10
CONNACK = 0x20
PUBLISH = 0x30
PUBACK = 0x40
SUBSCRIBE = 0x82
SUBACK = 0x90
# The same for every certificate that is made here.
SELF_SIGNED = ("req", "-x509", "-new", "-config", "openssl.cnf", "-extensions", "client")
BY_THE_AUTHORITY = ("-CA", "ca.crt", "-CAkey", "ca.key", "-days", "2")


class SmallClient:
    """One device: a connection, a subscription to its receipt, one report."""

    def __init__(self, port: int, context: ssl.SSLContext, receipt_topic: str) -> None:
        self._port = port
        self._context = context
        self._topic = receipt_topic

    async def join(self) -> None:
        """Connect and subscribe."""
        self._reader, self._writer = await asyncio.open_connection(
            "localhost", self._port, ssl=self._context
        )
        header = bytes([4, 2, *KEEPALIVE_SECONDS.to_bytes(2, "big")])
        self._send(CONNECT, _text("MQTT") + header + _text("any"))
        assert await self._next(CONNACK) == b"\0\0"
        self._send(SUBSCRIBE, b"\0\1" + _text(self._topic) + b"\1")
        assert await self._next(SUBACK) == b"\0\1\1"

    async def report(self, topic: str, payload: bytes) -> list[Verdict]:
        """Publish at QoS 1 and wait for the receipt."""
        self._send(PUBLISH | 2, _text(topic) + b"\0\2" + payload)
        body = await self._next(PUBLISH)
        start = 2 + int.from_bytes(body[:2], "big")
        if self._qos:
            self._send(PUBACK, body[start : start + 2])
            start += 2
        receipt = decode(body[start:], Receipt)
        assert isinstance(receipt, Receipt)
        return list(receipt.verdicts.values())

    def leave(self) -> None:
        """Hang up."""
        self._writer.transport.abort()

    def _send(self, kind: int, body: bytes) -> None:
        length = b""
        left = len(body)
        while True:
            left, low = divmod(left, 128)
            length += bytes([low | 128 if left else low])
            if not left:
                break
        self._writer.write(bytes([kind]) + length + body)

    async def _next(self, kind: int) -> bytes:
        """The body of the next packet of a kind; others are passed over."""
        while True:
            first = (await self._reader.readexactly(1))[0]
            body = await self._reader.readexactly(await self._length())
            if first & 0xF0 == kind & 0xF0:
                self._qos = first >> 1 & 3
                return body

    async def _length(self) -> int:
        length = 0
        shift = 0
        while True:
            part = (await self._reader.readexactly(1))[0]
            length |= (part & 127) << shift
            shift += 7
            if part < 128:
                return length


async def join_all(clients: Sequence[SmallClient]) -> None:
    """Connect all, a few at a time."""
    places = asyncio.Semaphore(HANDSHAKES_AT_ONCE)

    async def join(client: SmallClient) -> None:
        async with places:
            await client.join()

    await asyncio.gather(*(join(client) for client in clients))


def contexts(authority: Authority, names: Sequence[str], folder: Path) -> list[ssl.SSLContext]:
    """TLS settings with one certificate per name.

    They share a key: making 5,000 would test nothing but patience.
    """
    key = folder / "shared.key"
    curve = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    run("openssl", "genpkey", *curve, "-out", key)

    def certify(name: str) -> Path:
        certificate = folder / f"{name}.crt"
        subject = ("-key", key, "-subj", f"/CN={name}", "-out", certificate)
        authority.openssl(*SELF_SIGNED, *BY_THE_AUTHORITY, *subject)
        return certificate

    with ThreadPoolExecutor(2) as pool:
        return [_context(authority, path, key) for path in pool.map(certify, names)]


def _context(authority: Authority, certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.pki / "ca.crt")
    context.load_cert_chain(certificate, key)
    return context


def _text(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()
