"""A socket for programs of this device: it costs nothing unread, and never stops the agent."""

from __future__ import annotations

import contextlib
import errno
import grp
import json
import os
import socket
import stat

import pytest

from edge_agent.errors import SourceError
from edge_agent.output import local
from edge_agent.output.local import LIVE, LocalSocket, open_live


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


def tell(served: LocalSocket, record: object) -> None:
    """A turn of the agent's loop in which one record is served."""
    served.welcome()
    served.write({"record": record})


def test_running_out_of_descriptors_costs_new_readers_alone(served, monkeypatch, caplog):
    with contextlib.ExitStack() as leaving:
        first = leaving.enter_context(reader())
        tell(served, 0)
        second = leaving.enter_context(reader())

        def accept():
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        listener = served._listener
        with monkeypatch.context() as patch:
            patch.setattr(served, "_listener", type("Full", (), {"accept": staticmethod(accept)}))
            # It would wake the loop again and again, for nothing.
            tell(served, 1)
            assert served.readers() == [served._readers[0].fileno()]
            for k in (2, 3):
                tell(served, k)
        assert served._listener is listener
        tell(served, 4)
        assert first.recv(4096) == b"".join(b'{"record": %d}\n' % k for k in range(5))
        assert second.recv(4096) == b'{"record": 4}\n'
    assert caplog.text.count("nobody more can connect for now: Too many open files") == 1


def test_readers_leave_descriptors_for_others(served, monkeypatch):
    monkeypatch.setattr(local, "MOST_READERS", 2)
    with contextlib.ExitStack() as leaving:
        first, _, third = (leaving.enter_context(reader()) for _ in range(3))
        tell(served, 0)
        first.close()
        tell(served, 1)  # the first is found to be gone
        assert third.recv(4096) == b'{"record": 1}\n'


def test_nothing_is_encoded_while_nobody_reads(served):
    served.welcome()
    served.write({"record": object()})  # which JSON does not know
    with reader():
        served.welcome()
        with pytest.raises(TypeError):
            served.write({"record": object()})


def test_who_leaves_without_a_record_is_noticed(served):
    for _ in range(3 * local.MOST_READERS):
        with reader():
            served.welcome()
    served.welcome()
    assert not served._readers


def test_a_reader_that_is_too_slow_is_let_go(served):
    with reader() as slow:
        served.welcome()
        while served._readers:
            served.write({"record": "x" * 10_000})
        assert slow.recv(10) == b'{"record":'


def permissions(path) -> str:
    return oct(stat.S_IMODE(os.stat(path).st_mode))


def test_only_the_owner_may_listen_in_unless_the_owner_says_otherwise(served, tmp_path):
    assert permissions("served") == "0o600"
    ours = grp.getgrgid(os.getegid()).gr_name
    with contextlib.closing(LocalSocket("shared", 0o660, ours)):
        assert permissions("shared") == "0o660"
        assert os.stat("shared").st_gid == os.getegid()


def test_a_group_that_is_not_there_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match="--output-group nobody-has-this: there is no such group"):
        LocalSocket("shared", 0o660, "nobody-has-this")
    assert not list(tmp_path.iterdir())


def test_a_group_that_the_agent_may_not_use_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def forbidden(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "chown", forbidden)
    other = next(group.gr_name for group in grp.getgrall() if group.gr_gid != os.getegid())
    with pytest.raises(SourceError, match="the agent's user must be a member"):
        LocalSocket("shared", 0o660, other)
    assert not list(tmp_path.iterdir())


def test_a_path_that_cannot_be_a_socket_is_said_and_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(SourceError, match="output unix:notes: Address already in use"):
        LocalSocket("notes")
    assert (tmp_path / "notes").read_text() == "mine"
    with pytest.raises(SourceError, match="path too long; give a path that is free and short"):
        LocalSocket("x" * 200)
    with pytest.raises(SourceError, match="No such file or directory"):
        LocalSocket("nowhere/served")


def test_a_socket_at_which_another_agent_listens_is_left_to_it(tmp_path):
    """Each agent has a lock on its own state, and none on a path that its owner names twice."""
    path = str(tmp_path / "served.sock")
    first = LocalSocket(path)
    with pytest.raises(SourceError, match=r"served\.sock: another program listens there; give a"):
        LocalSocket(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as reader:
        reader.connect(path)
        first.welcome()
        first.write({"record": 1})
        assert json.loads(reader.recv(100)) == {"record": 1}
    first.close()
    LocalSocket(path).close()


def test_a_socket_that_a_killed_agent_has_left_is_taken_over(tmp_path):
    path = tmp_path / "served.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as killed:
        killed.bind(str(path))
    again = LocalSocket(str(path))
    assert path.is_socket()
    again.close()


def test_without_room_for_its_socket_the_agent_runs_all_the_same(tmp_path, caplog):
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    with caplog.at_level("INFO"):
        assert open_live(deep) == []
    assert "no live view on the owner's page" in caplog.text


def test_the_live_view_is_in_the_state_directory_and_the_owners_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (live,) = open_live(tmp_path.relative_to(tmp_path))
    with contextlib.closing(live):
        assert permissions(LIVE) == "0o600"
        with socket.socket(socket.AF_UNIX) as watching:
            watching.connect(LIVE)
            live.welcome()
            live.write({"record": 7})
            assert json.loads(watching.recv(100)) == {"record": 7}
    assert not list(tmp_path.iterdir())
