"""Leader and helper as processes over mosquitto, also where everything is killed at random."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tomli_w

from aggregator.secure.seat import cohort_topic
from fsir.secure.keys import write_pair
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.wire.cohort import Heading, Proposal, encode_cohort
from tests.aggregator.secure.pair import PAIRS, SEED, secure_task
from tests.needs import need
from tests.system.aggregator.daemons import ROOT
from tests.system.harness.forkserver import ForkServer
from tests.system.secure.world import World

pytestmark = pytest.mark.broker
TASK = secure_task(6, cohort=4)


@pytest.fixture
def world(tmp_path: Path, forkserver: ForkServer):
    need("mosquitto")
    made = World(tmp_path, forkserver, TASK, 10)
    yield made
    made.close()


def test_two_processes_open_the_exact_sum(world: World) -> None:
    for role in ROLES:
        world.start(role)
    world.finish()
    world.until(lambda: world.count(LEADER, "version") > 0, "no subspace is published")
    for role in ROLES:
        world.children[role].kill()
    world.check()
    command = [sys.executable, "-m", "aggregator", "status", "--json", "--recount", "--store"]
    for role in ROLES:
        store = f"sqlite:{world.path(role)}"
        found = subprocess.run([*command, store], capture_output=True, cwd=ROOT, check=True)
        (entry,) = json.loads(found.stdout)["tasks"]
        assert entry["cohorts"]["waiting"] == world.count(role, "share")
        assert entry["progress"]["counted"] == 10
        assert entry["stages"]["final"]["recount"]
        assert (entry["subspace"] is not None) == (role == LEADER)


def test_a_helper_that_comes_last_opens_what_has_waited(world: World) -> None:
    world.start(LEADER)
    world.until(lambda: len(world.answered) == 10, "the leader does not answer")
    assert not world.answers
    world.start(HELPER)
    world.finish()
    world.check()


def test_a_stranger_on_the_topic_of_the_leader_opens_nothing(world: World) -> None:
    for role in ROLES:
        world.start(role)
    world.until(lambda: world._line.up, "no connection")
    heading = Heading(task=TASK.digest, stage="final", number=1)
    forged = encode_cohort(Proposal(heading, (bytes(16),)), PAIRS[HELPER].sign)
    for raw in (forged, b"\xff" * 100, b""):
        for role in ROLES:
            world._line.publish(cohort_topic(TASK, role), raw, False)
    world.finish()
    world.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_whatever_is_killed_at_random_moments_every_report_is_opened_once(
    seed: int, tmp_path: Path, forkserver: ForkServer
) -> None:
    """Each federation sees 20 kills, of leader, helper and broker."""
    need("mosquitto")
    rng = random.Random(seed)
    # With a seed the sums are known, and without one a second noise would be another answer.
    world = World(tmp_path, forkserver, TASK, 12, seed=SEED if seed % 2 else None)
    try:
        for number in range(20):
            for role in ROLES:
                if role not in world.children or world.children[role].poll() is not None:
                    world.start(role)
            end = time.monotonic() + rng.choice((0.0, 0.05, 0.1, 0.3, 0.6))
            while time.monotonic() < end:
                world.step(sending=number)
            victim = rng.choice((LEADER, HELPER, "broker"))
            if victim == "broker":
                world.broker.kill()
                world.broker.restart()
            else:
                world.children[victim].kill()
        for role in ROLES:
            if world.children[role].poll() is not None:
                world.start(role)
        world.finish()
        world.check()
    finally:
        world.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "say which one this is, by --role leader or --role helper"),
        (("--role", "leader"), "give its --role-key"),
        (("--role", "leader", "--role-key", "helper.key"), "give --role helper"),
        (("--role", "helper", "--role-key", "none.key"), "keys new"),
    ],
)
def test_a_wrong_role_or_key_is_refused_with_the_remedy(
    options: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    (tmp_path / "t.toml").write_text(tomli_w.dumps(TASK.table()))
    write_pair(PAIRS[HELPER], tmp_path / "helper.key")
    command = [sys.executable, "-m", "aggregator", "serve", "--task", "t.toml"]
    command += ["--broker", "mqtt://127.0.0.1:1", "--store", "sqlite:s.db", *options]
    environment = {"PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert found.returncode != 0
    assert words in found.stderr.replace("\n", " ")
    assert "Traceback" not in found.stderr
