"""The word to the service manager."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from fsir.net.systemd import ready


@pytest.mark.parametrize("abstract", [False, True])
def test_it_is_said_once(abstract: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"@fsir-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name[1:] if abstract else name)
        manager.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        ready()
        assert manager.recv(64) == b"READY=1"
        ready()
        with pytest.raises(BlockingIOError):
            manager.recv(64)


def test_without_a_service_manager_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    ready()
    assert "NOTIFY_SOCKET" not in os.environ
