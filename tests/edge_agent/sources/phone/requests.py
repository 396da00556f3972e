"""Requests to the web server for phones, byte by byte."""

from __future__ import annotations

import socket
import time


def request(
    body=b'{"payload": []}',
    method="POST",
    path="/secret/data",
    kind="application/json",
    length=None,
    more="",
):
    """The bytes of a request."""
    size = len(body) if length is None else length
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: pi\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {size}\r\n{more}\r\n"
    )
    return head.encode() + body


def talk(listener, data, hang_up=False):
    """What a client gets for its bytes."""
    with socket.create_connection(("127.0.0.1", listener.port)) as client:
        client.setblocking(False)
        answer = b""
        left = data
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            listener.step()
            try:
                left = left[client.send(left) :] if left else b""
                if not left and hang_up:
                    return answer
            except OSError:
                left = b""
            try:
                chunk = client.recv(65536)
            except BlockingIOError:
                continue
            except OSError:
                return answer
            if not chunk:
                return answer
            answer += chunk
        raise AssertionError("no answer")
