"""Separate agents and the simulator give the same subspace, bit for bit, on either broker."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tomli_w

from fsir.net.broker import Broker
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace, topic
from sim_devices.datasets.synthetic_har import synthetic_har
from sim_devices.network.connections import Inbox, connection_of
from sim_devices.network.federation import federate
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import without_network
from sim_devices.scenarios.tasks import Setting, build

SEED = 11
SCRIPT = Path(__file__).with_name("seeded_agent.py")
NAMES = ("tBodyAcc-std()-X", "tBodyAcc-std()-Y", "tGravityAcc-mean()-X", "fBodyAcc-mean()-X")


def write_csv(path: Path, names, stream, response: str) -> None:
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*names, response])
        records = zip(stream.X.tolist(), stream.y.tolist(), strict=True)
        table.writerows([*map(repr, x), y] for x, y in records)


def run_agents(scenario, task, url: str, directory: Path):
    """One process per device and a real daemon; the subspace that they end with."""
    (directory / "task.toml").write_text(tomli_w.dumps(task.table()))
    (directory / "policy.toml").write_text("epsilon = 1000.0\n")
    daemon = [sys.executable, "-m", "aggregator", "serve", "--broker", url]
    daemon += ["--task", str(directory / "task.toml")]
    daemon += ["--store", f"sqlite:{directory / 'store.db'}"]
    processes = [subprocess.Popen(daemon)]
    try:
        for stream in scenario.population.devices:
            source = directory / f"{stream.device}.csv"
            write_csv(source, scenario.population.features, stream, task.response.name)
            command = [sys.executable, str(SCRIPT), str(SEED), "run", "--broker", url, "--once"]
            command += ["--task", task.name, "--device", stream.device, "--source", f"csv:{source}"]
            command += ["--state", str(directory / stream.device)]
            command += ["--policy", str(directory / "policy.toml")]
            processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        for agent in processes[1:]:
            assert agent.wait(120) == 0
        return last_subspace(url, task, len(processes) - 1)
    finally:
        for process in processes:
            process.terminate()
            process.wait(20)


def last_subspace(url: str, task, devices: int):
    inbox = Inbox()
    topics = [topic(task.name, "subspace")]
    connection = connection_of(Broker.parse(url), "same-bits-observer", topics, inbox)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            connection.step(time.monotonic())
            while inbox:
                subspace = decode(inbox.popleft().payload, Subspace)
                if subspace.devices == devices:
                    return subspace
            time.sleep(0.05)
    finally:
        connection.close()
    raise AssertionError("the subspace never counted every device")


@pytest.mark.broker
@pytest.mark.parametrize("people", [4, pytest.param(21, marks=pytest.mark.slow)])
def test_simulator_and_processes_agree(people, tmp_path, mosquitto_url, embedded_url):
    population = synthetic_har(people + 2, 200, seed=2, unseen=1, names=NAMES)
    scenario = scenarios.activities(population, "person-01", norm=1.5)
    task = build(scenario.population, scenario.geometry, Setting(epsilon=2.0, dimension=2))
    expected = without_network(task, scenario.population.devices, SEED)
    subspaces = [
        run_agents(scenario, task, mosquitto_url, tmp_path),
        federate(scenario.population, task, broker="mosquitto", seed=SEED).subspace,
        federate(scenario.population, task, broker=embedded_url, seed=SEED).subspace,
    ]
    for subspace in subspaces:
        assert subspace.features == expected.features
        assert subspace.basis.tobytes() == expected.basis.tobytes()
