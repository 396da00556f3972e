"""The latest records of the running agent, bounded whatever it sends."""

from __future__ import annotations

import contextlib
import json
import socket

import pytest

from edge_agent.output.local import LIVE, LocalSocket
from edge_agent.page import live
from edge_agent.page.live import NOT_RUNNING, RECORDS, Live


@pytest.fixture
def agent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with contextlib.closing(LocalSocket(LIVE)) as served:
        yield served


@pytest.fixture
def watching(agent, tmp_path):
    with contextlib.closing(Live(tmp_path.relative_to(tmp_path))) as view:
        yield view


def turn(agent, view, *served):
    """A turn of the agent's loop, and a look."""
    agent.welcome()
    for one in served:
        agent.write(one)
    view.look()


def test_the_latest_records_of_each_task(agent, watching):
    watching.look()
    assert watching.running
    for k in range(3 * RECORDS):
        turn(agent, watching, {"task": "a", "record": k}, {"task": "b", "record": -k})
    assert [one["record"] for one in watching.records["a"]] == [*range(2 * RECORDS, 3 * RECORDS)]
    assert watching.records["b"][-1]["record"] == 1 - 3 * RECORDS


def test_an_agent_that_ends_and_comes_back(agent, watching):
    watching.look()
    turn(agent, watching, {"task": "a", "record": 1})
    agent.close()
    watching.look()
    assert (watching.running, watching.trouble) == (False, NOT_RUNNING)
    watching.look()
    assert watching.trouble == NOT_RUNNING
    with contextlib.closing(LocalSocket(LIVE)) as again:
        watching.look()
        turn(again, watching, {"task": "a", "record": 2})
        assert (watching.running, watching.trouble) == (True, "")
    assert [one["record"] for one in watching.records["a"]] == [1, 2]


def test_a_socket_that_a_killed_agent_left_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(LIVE)
    view = Live(tmp_path.relative_to(tmp_path))
    view.look()
    assert view.trouble == NOT_RUNNING


def test_why_there_is_no_live_view(tmp_path, monkeypatch):
    deep = Live(tmp_path / ("x" * 120))
    deep.look()
    assert "too long for a live view" in deep.trouble
    assert not deep.running

    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(live.socket.socket, "connect", forbidden)
    other = Live(tmp_path)
    other.look()
    assert "start the page as the user of the agent" in other.trouble


def test_lines_that_mean_nothing_are_passed_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(LIVE)
        listener.listen()
        view = Live(tmp_path.relative_to(tmp_path))
        view.look()
        sender, _ = listener.accept()
        with sender:
            sender.sendall(b'nonsense\n[1]\n{"record": 1}\n{"task": ["a"]}\n\xff\n{"task": "a"')
            view.look()
            assert view.records == {}
            sender.sendall(b', "record": 7}\n')
            view.look()
            assert list(view.records["a"]) == [json.loads('{"task": "a", "record": 7}')]
        view.close()
