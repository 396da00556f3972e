"""How a run ends, for scripts and for people."""

from __future__ import annotations

from edge_agent.agent import Agent
from fsir.privacy.plan import report_size

DONE, TOO_FEW, REFUSED = 0, 3, 4  # exit codes; 2 is a mistake in the settings, see cli.py


def shortfall(agent: Agent, replayable: bool) -> str:
    """What a source that has ended owes a task."""
    assert agent.task is not None
    size = report_size(agent.task)
    refused = ", ".join(f"{count} {reason}" for reason, count in agent.refused.items())
    return (
        f"the source has ended, and {size - agent.n} records are missing for the report: {agent.n} of {size} learned"
        f"{refused and f' (not accepted: {refused})'}; what was learned is kept: start again when there are "
        f"more{', or wait for them with --follow' * replayable}"
    )
