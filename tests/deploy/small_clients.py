"""Thousands of TLS connections from one process: just enough MQTT 3.1.1 to report and to read a receipt."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fsir.wire.decode import decode
from fsir.wire.messages import Receipt, Verdict
from tests.deploy.tools import Authority, run

HANDSHAKES_AT_ONCE = 50
CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, SUBACK = 0x10, 0x20, 0x30, 0x40, 0x82, 0x90


class SmallClient:
    """One device: a connection, a subscription to its receipt, one report."""

    def __init__(self, port: int, context: ssl.SSLContext, receipt_topic: str) -> None:
        self._port, self._context, self._topic = port, context, receipt_topic

    async def join(self) -> None:
        """Connect and subscribe."""
        self._reader, self._writer = await asyncio.open_connection(
            "localhost", self._port, ssl=self._context
        )
        keepalive = 3000
        self._send(
            CONNECT, _text("MQTT") + bytes([4, 2, *keepalive.to_bytes(2, "big")]) + _text("any")
        )
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
        length, left = b"", len(body)
        while True:
            left, low = divmod(left, 128)
            length += bytes([low | 128 if left else low])
            if not left:
                break
        self._writer.write(bytes([kind]) + length + body)

    async def _next(self, kind: int) -> bytes:
        """The body of the next packet of a kind; others are passed over."""
        while True:
            found = (await self._reader.readexactly(1))[0]
            length, shift = 0, 0
            while True:
                part = (await self._reader.readexactly(1))[0]
                length |= (part & 127) << shift
                shift += 7
                if part < 128:
                    break
            body = await self._reader.readexactly(length)
            if found & 0xF0 == kind & 0xF0:
                self._qos = found >> 1 & 3
                return body


async def join_all(clients: Sequence[SmallClient]) -> None:
    """Connect all, a few at a time."""
    places = asyncio.Semaphore(HANDSHAKES_AT_ONCE)

    async def join(client: SmallClient) -> None:
        async with places:
            await client.join()

    await asyncio.gather(*(join(client) for client in clients))


def contexts(authority: Authority, names: Sequence[str], folder: Path) -> list[ssl.SSLContext]:
    """TLS settings with one certificate per name. They share a key: making 5,000 would test nothing but patience."""
    key = folder / "shared.key"
    run(
        "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key
    )

    def certify(name: str) -> Path:
        run("openssl", "req", "-x509", "-new", "-config", "openssl.cnf", "-extensions", "client", "-CA", "ca.crt",
            "-CAkey", "ca.key", "-key", key, "-subj", f"/CN={name}", "-days", "2", "-out", folder / f"{name}.crt",
            cwd=authority.pki, env={**os.environ, "FSIR_HOSTS": "DNS:unused"})  # fmt: skip
        return folder / f"{name}.crt"

    with ThreadPoolExecutor(2) as pool:
        return [_context(authority, path, key) for path in pool.map(certify, names)]


def _context(authority: Authority, certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.pki / "ca.crt")
    context.load_cert_chain(certificate, key)
    return context


def _text(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()
