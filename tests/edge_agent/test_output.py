"""Where served records go: a socket that lacks what it needs must not stop the agent."""

from __future__ import annotations

import contextlib
import errno
import os
import socket

import pytest

from edge_agent import output
from edge_agent.output import LocalSocket


@pytest.fixture
def served(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with contextlib.closing(LocalSocket("served")) as output_socket:
        yield output_socket


def reader() -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(30.0)
    connection.connect("served")
    return connection


def test_running_out_of_descriptors_costs_new_readers_alone(served, monkeypatch, caplog):
    with contextlib.ExitStack() as leaving:
        first = leaving.enter_context(reader())
        served.write({"record": 0})
        second = leaving.enter_context(reader())

        def accept():
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        listener = served._listener
        with monkeypatch.context() as patch:
            patch.setattr(served, "_listener", type("Full", (), {"accept": staticmethod(accept)}))
            for k in (1, 2, 3):
                served.write({"record": k})
        assert served._listener is listener
        served.write({"record": 4})
        assert first.recv(4096) == b"".join(b'{"record": %d}\n' % k for k in range(5))
        assert second.recv(4096) == b'{"record": 4}\n'
    assert caplog.text.count("nobody more can connect for now: Too many open files") == 1


def test_readers_leave_descriptors_for_others(served, monkeypatch):
    monkeypatch.setattr(output, "MOST_READERS", 2)
    with contextlib.ExitStack() as leaving:
        first, _, third = (leaving.enter_context(reader()) for _ in range(3))
        served.write({"record": 0})
        first.close()
        served.write({"record": 1})  # the first is found to be gone
        served.write({"record": 2})
        assert third.recv(4096) == b'{"record": 2}\n'
