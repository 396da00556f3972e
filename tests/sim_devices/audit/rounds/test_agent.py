"""The shipped agent in rounds: its noise is that of the proof, and its books are right."""

import pytest

from edge_agent.state.keys import Keys
from sim_devices.audit.rounds import agent
from sim_devices.audit.rounds.agent import by_agent, of_books
from sim_devices.audit.rounds.reports import of_reports


@pytest.mark.long
def test_agents_that_are_started_anew_publish_the_law():
    assert not of_reports(by_agent, 12, "agents", rounds=3).violated


def test_the_books_name_every_round_and_its_records():
    assert of_books().faults == ()


@pytest.mark.long
def test_agents_that_forget_their_key_are_found(monkeypatch):
    """Another key before every round: the noise of earlier ones is not taken back."""
    stored = Keys.of
    flips = iter(range(10**6))

    def of(self, digest):
        key = stored(self, digest)
        return bytes(b ^ (next(flips) % 251 + 1) for b in key)

    monkeypatch.setattr(Keys, "of", of)
    assert of_reports(by_agent, 30, "agents", rounds=3).violated


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mu": 0.1}, "mu = 0.1"),
        ({"round": 7}, "round 7"),
        ({"first": 3}, "records 3"),
        ({"numbers": 20}, "20 numbers"),
        ({"report": b"another"}, "before it is in the ledger"),
    ],
)
def test_books_that_are_wrong_are_found(monkeypatch, change, said):
    read = agent._ledger

    def wrong(directory):
        *rows, last = read(directory)
        return [*rows, last._replace(**change)]

    monkeypatch.setattr(agent, "_ledger", wrong)
    assert any(said in fault for fault in of_books().faults)
