"""The commands as users start them: interpreters of their own, and no changed delays."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests.system.processes.fleet import Processes

pytestmark = [pytest.mark.broker, pytest.mark.slow, pytest.mark.usefixtures("short_delays")]


def serve(processes: Processes, *options: str) -> list[str]:
    """The command line of an aggregator."""
    store = f"sqlite:{processes.directory / 'store.db'}"
    places = ["--task", str(processes.tasks[0]), "--broker", processes.url, "--store", store]
    return [sys.executable, "-m", "aggregator", "serve", *places, *options]


def test_the_commands_as_users_start_them(processes):
    """No shortcut between aggregator and agents; each agent is killed once in between."""
    with (processes.directory / "log").open("wb") as log:
        started = [subprocess.Popen(serve(processes), stderr=log, stdout=log)]
        try:
            for name in processes.federation.names():
                command = [sys.executable, "-m", "edge_agent.cli", *processes.arguments(name)]
                victim = subprocess.Popen(command, stderr=log, stdout=log)
                time.sleep(1.5)
                victim.kill()
                victim.wait()
                started.append(subprocess.Popen(command, stderr=log, stdout=log))
            for agent in started[1:]:
                processes.until(
                    lambda agent=agent: agent.poll() is not None, "an agent does not end"
                )
                assert agent.returncode == 0
        finally:
            for process in started:
                process.terminate()
                process.wait(20)
    assert processes.finish() == []


def test_two_workers_as_users_start_them(processes):
    """They share a subscription and a store; one of them is killed and does not come back."""
    shared = serve(processes, "--share", "workers")
    with (processes.directory / "log").open("wb") as log:
        workers = [
            subprocess.Popen([*shared, "--worker", name], stderr=log, stdout=log)
            for name in ("one", "two")
        ]
        try:
            agents = [processes.agent(name) for name in processes.federation.names()]
            processes.until(lambda: "report made" in agents[0].said(), "no report is made", *agents)
            workers[0].kill()
            for agent in agents:
                processes.until(
                    lambda agent=agent: agent.poll() is not None, "an agent does not end", agent
                )
                assert agent.poll() == 0, agent.said()
        finally:
            for worker in workers:
                worker.terminate()
                worker.wait(20)
    assert workers[1].returncode == 0, (processes.directory / "log").read_text()
    assert processes.finish() == []
