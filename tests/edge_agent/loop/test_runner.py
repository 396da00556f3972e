"""A turn of the loop: in which order things happen in it."""

from __future__ import annotations

import contextlib
import socket

from edge_agent.agent import Agent, Feed
from edge_agent.loop.runner import Manner, Runner
from edge_agent.output.local import LocalSocket
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.state.state import State
from fsir.net.broker import Broker
from tests.edge_agent.world import DEVICE


def test_who_is_connected_before_a_turn_misses_no_record_of_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with contextlib.ExitStack() as leaving:
        state = leaving.enter_context(contextlib.closing(State(tmp_path / "state", DEVICE)))
        (tmp_path / "data.jsonl").write_text("")
        source = leaving.enter_context(
            contextlib.closing(open_source("jsonl:data.jsonl", Options()))
        )
        output = leaving.enter_context(contextlib.closing(LocalSocket("served")))
        agents = [Agent(state, "test", feed=Feed.of(source))]
        broker = Broker.parse("mqtt://127.0.0.1:1")
        runner = Runner(agents, state, broker, source=source, output=output, manner=Manner())
        leaving.callback(runner._leave)
        monkeypatch.setattr(runner._feeding, "step", lambda: output.write({"record": 100}))
        listener = leaving.enter_context(socket.socket(socket.AF_UNIX))
        listener.settimeout(30.0)
        listener.connect("served")
        runner._step()
        assert listener.recv(4096) == b'{"record": 100}\n'
