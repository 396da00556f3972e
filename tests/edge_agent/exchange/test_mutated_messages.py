"""Messages that were bent on the way: the agent raises nothing and keeps what it has accepted."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.agent import Agent
from edge_agent.state.state import State
from fsir.wire.messages import topic
from tests.edge_agent.world import DEVICE, active, data, receipt, simulated, subspace
from tests.fsir.tasks import screened

KINDS = ("task", "active", "subspace", "receipt")


def _honest(kind: str) -> bytes:
    two = screened()
    agent = simulated(two, seed=3)
    agent.learn_many(*data(two, 100))
    sent = agent.outgoing(1.0)
    made = {
        "task": lambda: two.encode(),
        "active": lambda: active(two, "x1", "x4")[1],
        "subspace": lambda: subspace(two, ("x1", "x4"), d=2)[1],
        "receipt": lambda: receipt(two, sent)[1],
    }
    return made[kind]()


HONEST = {kind: _honest(kind) for kind in KINDS}


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(KINDS), st.data())
def test_mutated_messages_never_raise(kind, choice):
    raw = bytearray(HONEST[kind])
    for _ in range(choice.draw(st.integers(1, 4))):
        place = choice.draw(st.integers(0, len(raw) - 1))
        how = choice.draw(st.sampled_from(("flip", "cut", "grow")))
        if how == "flip":
            raw[place] = choice.draw(st.integers(0, 255))
        elif how == "cut" and len(raw) > 1:
            del raw[place:]
            raw.append(choice.draw(st.integers(0, 255)))
        else:
            raw[place:place] = choice.draw(st.binary(max_size=8))
    agent = simulated(screened())
    agent.receive(topic("test", kind, DEVICE if kind == "receipt" else None), bytes(raw))
    fresh = Agent(State(None, DEVICE, simulated=True), "test", simulated=True)
    fresh.receive(topic("test", kind, DEVICE if kind == "receipt" else None), bytes(raw))
    assert agent.task == screened()


def test_the_honest_messages_from_which_the_others_are_made():
    two = screened()
    agent = simulated(two)
    for kind in ("active", "subspace"):
        agent.receive(topic("test", kind), HONEST[kind])
    assert agent.active == ("x1", "x4")
    assert agent.serving
