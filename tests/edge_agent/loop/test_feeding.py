"""The way of the records from a source to the agents."""

from __future__ import annotations

import contextlib
import io
import json

import pytest

from edge_agent.agent import Agent, Feed
from edge_agent.errors import SourceError
from edge_agent.labels.queue import Labelling
from edge_agent.loop.feeding import Feeding
from edge_agent.loop.runner import Manner, Runner
from edge_agent.output import Lines
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.state.state import State
from fsir.net.broker import Broker
from tests.edge_agent.world import DEVICE, records
from tests.fsir.tasks import task


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_replaced_file_is_refused_however_far_back_another_task_is(tmp_path, kind):
    """The new task would start at the beginning, where everything looks right.

    It would take the old one along.
    """
    path = tmp_path / f"data.{kind}"
    of = task()
    broker = Broker.parse("mqtt://127.0.0.1:1")

    def write(rows):
        if kind == "csv":
            path.write_text("x0,x1,x2,y\n" + "".join(f"{k},0,0,a\n" for k in rows))
        else:
            path.write_text(
                "".join(json.dumps({"x0": k, "x1": 0, "x2": 0, "y": "a"}) + "\n" for k in rows)
            )

    def runner(state, source, *names):
        agents = [Agent(state, name, feed=Feed.of(source)) for name in names]
        output = Lines(io.StringIO())
        made = Runner(agents, state, broker, source=source, output=output, manner=Manner())
        return made, agents

    write(range(10))
    with contextlib.closing(State(tmp_path / "state", DEVICE)) as state:
        with contextlib.closing(open_source(f"{kind}:{path}", Options())) as source:
            running, (agent,) = runner(state, source, "test")
            agent.receive("fsir/1/test/task", of.encode())
            running._feeding.step()
            assert agent.n == 10
            running._leave()
        write([0, *range(10)])
        again = contextlib.closing(open_source(f"{kind}:{path}", Options()))
        with again as source, pytest.raises(SourceError, match="counted twice"):
            runner(state, source, "test", "another")
        # Nor without the old one: its records would come again, under other numbers.
        again = contextlib.closing(open_source(f"{kind}:{path}", Options()))
        with again as source, pytest.raises(SourceError, match="counted twice"):
            runner(state, source, "another")


class Sensor:
    """A live source: what is not taken when it comes is gone."""

    name = stream = "test:sensor"
    label = ""
    replayable = ended = False
    unit_records = 1

    def __init__(self, coming):
        self.coming = coming
        self.resumed = []

    def resume(self, after):
        self.resumed.append(after.ordinal)

    def poll(self, limit):
        assert self.resumed, "polled before it was opened"
        taken = self.coming[:limit]
        del self.coming[:limit]
        return taken

    def fileno(self):
        assert self.resumed, "waited for before it was opened"

    def delay(self):
        assert self.resumed, "waited for before it was opened"
        return 1.0


def test_a_sensor_is_opened_with_the_task_and_what_passes_by_is_counted(tmp_path, caplog):
    of = task(report={"records": 20})
    with contextlib.closing(State(tmp_path / "state", DEVICE)) as state:
        source = Sensor(records(of, 90))
        agent = Agent(state, of.name, feed=Feed.of(source))
        feeding = Feeding([agent], source, Lines(io.StringIO()), Labelling(), None)
        feeding.resume(state)
        for _ in range(3):
            feeding.step()
            assert len(feeding.due_times(0.0)) == 1  # when to say what is waited for
            assert feeding.readers() == []
        assert len(source.coming) == 90
        agent.receive(f"fsir/1/{of.name}/task", of.encode())
        feeding.step()
        assert source.resumed == [-1]
        while source.coming:
            feeding.step()
        assert agent.n == 20
    assert "test:sensor: 64 records passed by: no task wanted one just then" in caplog.text
    assert source.resumed == [-1]
