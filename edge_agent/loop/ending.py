"""How a run ends, for scripts and for people."""

from __future__ import annotations

from collections.abc import Sequence

from edge_agent.agent import Agent, Phase
from edge_agent.watch.refusals import anew
from fsir.privacy.plan import report_size
from fsir.task.task import Task

DONE = 0  # exit codes; 2 is a mistake in the settings, see `fsir.net.program`
TOO_FEW = 3
REFUSED = 4
LATE = 5
HELD = 6


def all_answered(agents: Sequence[Agent]) -> bool:
    """Whether every task has its receipt, goes on without this device, or waits for its owner."""
    return all(agent.phase is Phase.SERVING or _waits_for_nobody(agent) for agent in agents)


def _waits_for_nobody(agent: Agent) -> bool:
    """A held report waits here if another run would not have its records any more."""
    return bool(agent.reason or agent.late or (agent.held and agent.feed.lasts))


def result(agents: Sequence[Agent]) -> int:
    """The exit code of a run in which no record is missing."""
    if any(agent.reason for agent in agents):
        return REFUSED
    if any(agent.late for agent in agents):
        return LATE
    return HELD if any(agent.held for agent in agents) else DONE


def too_few(agents: Sequence[Agent]) -> bool:
    """Whether some task lacks records, now that no more will come, and no deadline will come."""
    if any(agent.pending for agent in agents):
        return False
    learning = [agent for agent in agents if agent.phase is Phase.LEARNING]
    if not learning or any(agent.phase is Phase.SCREENED for agent in agents):
        return False
    return all(agent.wants_records and _is_undated(agent.task) for agent in learning)


def _is_undated(task: Task | None) -> bool:
    return task is not None and task.report.deadline is None


def shortfall(agent: Agent, task: Task, replayable: bool) -> str:
    """What a source that has ended owes a task."""
    size = report_size(task)
    refused = ", ".join(f"{count} {reason}" for reason, count in agent.refused.items())
    return (
        f"the source has ended, and {size - agent.n} records are missing for the report: "
        f"{agent.n} of {size} offered, {agent.learned} learned"
        f"{refused and f' (not accepted: {refused})'}; {_remedy(agent, size, replayable)}"
    )


def _remedy(agent: Agent, size: int, replayable: bool) -> str:
    """More records, unless what is there cannot be used."""
    why = agent.why_refused()
    if why is None or agent.learned >= agent.n - agent.learned:
        return _more(agent, size, replayable)
    if agent.learned:
        return f"of most it is said: {why}; {_more(agent, size, replayable)}"
    return (
        f"none could be used: {why}; mend that at the source, then "
        f"{_anew(agent)} --state {agent.state.where}, and start again"
    )


def _anew(agent: Agent) -> str:
    source = agent.feed.name
    return anew(source, agent.name, reported=agent.state.has_reported(source))


def _more(agent: Agent, size: int, replayable: bool) -> str:
    if agent.feed.lasts:
        more = "more, or wait for them with --follow" if replayable else "more"
        return f"what was learned is kept: start again when there are {more}"
    return (
        "what was learned is not kept, because another run may bring the same records: "
        f"offer all {size} in one run"
    )
