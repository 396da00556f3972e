"""Real processes, killed with -9 at named points; a listener sees all that leaves a device."""

from __future__ import annotations

import random
import signal
import time

import pytest

from tests.system.harness import points
from tests.system.harness.forkserver import Child
from tests.system.harness.one_hot import Federation
from tests.system.processes.fleet import Processes

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("short_delays")]
DAY_SECONDS = 86400.0


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("point", points.AGENT)
def test_an_agent_that_is_killed_anywhere_reports_once(point, times, processes):
    server = processes.aggregator()
    helper = processes.agent("device-1")
    agent = processes.agent("device-0", kill=(point, times))
    # Some points come only once; then the agent just ends well.
    processes.until(lambda: agent.poll() is not None, "neither killed nor done", agent)
    assert agent.poll() in (-signal.SIGKILL, 0), agent.said()
    if times == 1:
        assert agent.poll() == -signal.SIGKILL
    helper.kill()
    server.kill()
    assert processes.finish() == []


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("point", points.AGGREGATOR)
def test_an_aggregator_that_is_killed_anywhere_counts_once(point, times, processes):
    server = processes.aggregator(kill=(point, times))
    agents = [processes.agent(name) for name in processes.federation.names()]
    processes.until(
        lambda: server.poll() is not None or all(agent.poll() is not None for agent in agents),
        "neither killed nor done",
    )
    if times == 1:
        assert server.poll() == -signal.SIGKILL
    for child in [*agents, server]:
        child.kill()
    assert processes.finish() == []


@pytest.mark.parametrize("times", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "point", ["transaction open", "report written", "report sent", "receipt read"]
)
def test_an_agent_with_two_tasks_that_is_killed_in_either_reports_both_once(
    point, times, tmp_path, forkserver
):
    first = Federation(devices=2, stock=12, records=3, screening="fresh")
    second = Federation(devices=2, stock=12, records=5, screening="same", name="other")
    processes = Processes(first, tmp_path, forkserver, second=second)
    try:
        server = processes.aggregator()
        helper = processes.agent("device-1")
        agent = processes.agent("device-0", kill=(point, times))
        processes.until(lambda: agent.poll() is not None, "neither killed nor done", agent)
        assert agent.poll() == -signal.SIGKILL, agent.said()
        helper.kill()
        server.kill()
        assert processes.finish() == []
    finally:
        processes.close()


def test_an_agent_does_not_wait_for_a_task_that_its_owner_refuses(tmp_path, forkserver):
    """The other one is learned, reported and counted, and with `--once` the agent leaves."""
    first = Federation(devices=2, stock=4, records=4)
    second = Federation(devices=2, stock=4, records=4, name="other", secret=True)
    processes = Processes(first, tmp_path, forkserver, second=second, shy="device-0")
    try:
        assert processes.finish() == []
    finally:
        processes.close()


@pytest.mark.parametrize("clock", [-400 * DAY_SECONDS, 400 * DAY_SECONDS])
def test_a_clock_that_jumps_between_two_lives_changes_nothing(clock, tmp_path, forkserver):
    federation = Federation(devices=2, stock=4, records=4, max_delay=0.3)
    processes = Processes(federation, tmp_path, forkserver)
    try:
        server = processes.aggregator(clock=clock)
        agent = processes.agent("device-0", clock=clock, kill=("report written", 1))
        processes.until(lambda: agent.poll() is not None, "the agent was not killed")
        server.kill()
        assert processes.finish() == []
    finally:
        processes.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_processes_that_are_killed_at_random_lose_and_double_nothing(seed, processes):
    rng = random.Random(seed)
    running: dict[str, Child] = {}
    for _ in range(30):
        name = rng.choice(["aggregator", *processes.federation.names()])
        if name not in running or running[name].poll() is not None:
            server = name == "aggregator"
            running[name] = processes.aggregator() if server else processes.agent(name)
        elif rng.random() < 0.5:
            running[name].kill()
        pause = time.monotonic() + rng.choice((0.0, 0.02, 0.05, 0.1))
        processes.until(lambda pause=pause: time.monotonic() > pause, "")
    for child in running.values():
        child.kill()
    assert processes.finish() == []
