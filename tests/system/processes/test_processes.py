"""Real processes, killed with -9 at named points; a listener at the broker sees everything that leaves a device."""

from __future__ import annotations

import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from edge_agent.mqtt.connection import Connection
from fsir.limits import LIMITS
from fsir.net.broker import Broker
from fsir.wire.messages import topic
from tests.system.harness import points
from tests.system.harness.forkserver import Child, ForkServer
from tests.system.harness.one_hot import Federation
from tests.system.harness.proxy import Proxy, Weather
from tests.system.hostile.mutations import Mutator
from tests.system.processes.fleet import Processes

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("short_delays")]
DAY = 86400.0


@pytest.fixture
def processes(tmp_path: Path, forkserver: ForkServer) -> Iterator[Processes]:
    made = Processes(Federation(2, 8, 4, "fresh"), tmp_path, forkserver)
    yield made
    made.close()


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
    done = lambda: server.poll() is not None or all(agent.poll() is not None for agent in agents)  # noqa: E731
    processes.until(done, "neither killed nor done")
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
    second = Federation(2, 12, 5, "same", name="other")
    processes = Processes(Federation(2, 12, 3, "fresh"), tmp_path, forkserver, second=second)
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
    second = Federation(2, 4, 4, name="other", secret=True)
    processes = Processes(Federation(2, 4, 4), tmp_path, forkserver, second=second, shy="device-0")
    try:
        assert processes.finish() == []
    finally:
        processes.close()


@pytest.mark.parametrize("clock", [-400 * DAY, 400 * DAY])
def test_a_clock_that_jumps_between_two_lives_changes_nothing(clock, tmp_path, forkserver):
    world = Processes(Federation(2, 4, 4, max_delay=0.3), tmp_path, forkserver)
    try:
        server = world.aggregator(clock=clock)
        agent = world.agent("device-0", clock=clock, kill=("report written", 1))
        world.until(lambda: agent.poll() is not None, "the agent was not killed")
        server.kill()
        assert world.finish() == []
    finally:
        world.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_processes_that_are_killed_at_random_lose_and_double_nothing(seed, processes):
    rng = random.Random(seed)
    running: dict[str, Child] = {}
    for _ in range(30):
        name = rng.choice(["aggregator", *processes.federation.names()])
        if name not in running or running[name].poll() is not None:
            running[name] = (
                processes.aggregator() if name == "aggregator" else processes.agent(name)
            )
        elif rng.random() < 0.5:
            running[name].kill()
        pause = time.monotonic() + rng.choice((0.0, 0.02, 0.05, 0.1))
        processes.until(lambda pause=pause: time.monotonic() > pause, "")
    for child in running.values():
        child.kill()
    assert processes.finish() == []


def test_hostile_bytes_on_the_wire_stop_nobody(processes):
    """What is on the topics of the server is refused by the agents, what is on those of others by the aggregator."""
    rng = random.Random(5)
    honest = [processes.federation.task().encode()]
    mutator = Mutator(rng, honest, 100_000)
    server = processes.aggregator()
    agent = processes.agent("device-1")
    processes.until(lambda: "report made" in agent.said(), "the agent makes no report")
    task = processes.federation.task()
    places = [
        *(topic(task.name, kind) for kind in ("active", "subspace")),
        topic(task.name, "report", "stranger"),
    ]
    for _ in range(400):
        processes.listener_publishes(rng.choice(places), mutator.payload(), rng.random() < 0.5)
    processes.listener_publishes(
        topic(task.name, "report", "stranger"), bytes(LIMITS["report"] + 1)
    )
    processes.listener_publishes(topic(task.name, "report", "another"), b"\x00")
    processes.until(
        lambda: "another" in receipts(processes), "the aggregator answers nobody any more"
    )
    assert server.poll() is None, server.said()
    assert agent.poll() is None, agent.said()
    server.kill()
    agent.kill()
    for place in places[:2]:
        processes.listener_publishes(place, b"", True)
    assert processes.finish() == []


def receipts(processes: Processes) -> set[str]:
    """Devices that have got a receipt."""
    found: set[str] = set()
    where = topic("one-hot", "receipt", "+")
    reader = Connection(
        Broker.parse(processes.url),
        "receipts",
        [where],
        lambda m: found.add(m.topic.rpartition("/")[2]),
    )
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        reader.step(time.monotonic())
        time.sleep(0.01)
    reader.close()
    return found


@pytest.mark.skipif(shutil.which("openssl") is None, reason="NOT TESTED: openssl is not on PATH")
def test_bytes_that_change_on_their_way_are_noticed_by_tls(tmp_path, forkserver):
    """Any byte of the stream, in both directions: the connection breaks, and is made again until all has passed."""
    certificate, key = tmp_path / "server.crt", tmp_path / "server.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    port = free_port()
    lines = (f"listener {port} 127.0.0.1", f"certfile {certificate}", f"keyfile {key}")
    world = Processes(Federation(3, 4, 4), tmp_path, forkserver, *lines)
    proxy = Proxy(port, random.Random(3))
    proxy.weather = Weather(corrupt=0.08)
    proxy.run()
    world.options = ["--ca", str(certificate)]
    try:
        assert world.finish(f"mqtts://127.0.0.1:{proxy.port}", ca=str(certificate)) == []
        assert proxy.damaged
    finally:
        world.close()
        proxy.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.slow
def test_the_commands_as_users_start_them(processes):
    """The same without any shortcut: two interpreters, no changed delays; the agent is killed once in between."""
    store, task = f"sqlite:{processes.directory / 'store.db'}", str(processes.tasks[0])
    serve = [
        sys.executable,
        "-m",
        "aggregator",
        "serve",
        "--task",
        task,
        "--broker",
        processes.url,
        "--store",
        store,
    ]
    with (processes.directory / "log").open("wb") as log:
        started = [subprocess.Popen(serve, stderr=log, stdout=log)]
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


@pytest.mark.slow
def test_two_workers_as_users_start_them(processes):
    """They share a subscription and a store; one of them is killed and does not come back."""
    serve = [
        sys.executable,
        "-m",
        "aggregator",
        "serve",
        "--task",
        str(processes.tasks[0]),
        "--broker",
        processes.url,
    ]
    serve += ["--store", f"sqlite:{processes.directory / 'store.db'}", "--share", "workers"]
    with (processes.directory / "log").open("wb") as log:
        workers = [
            subprocess.Popen([*serve, "--worker", name], stderr=log, stdout=log)
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
