"""Leader and helper as processes over mosquitto, also where everything is killed at random."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest
import tomli_w

from aggregator.secure.seat import cohort_topic
from fsir.limits import ID_BYTES, MOST_IN_COHORT
from fsir.secure.keys import write_pair
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.wire.cohort import Heading, Proposal, encode_cohort
from fsir.wire.messages import report_id
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


def test_a_leader_that_asks_for_too_much_is_declined_and_both_live(world: World) -> None:
    """Signed by the leader itself: too few, foreign, far too many, replayed, overlapping."""
    world.start(HELPER)
    world.until(lambda: len(world.answered) == 10, "the helper does not answer")
    ours = tuple(sorted(report_id(raw) for raw in world.reports.values()))
    foreign = tuple(sorted(os.urandom(ID_BYTES) for _ in range(50)))
    place = cohort_topic(TASK, LEADER)

    def say(number: int, ids: tuple[bytes, ...], **changes: Any) -> bytes:
        heading = Heading(task=TASK.digest, stage="final", number=number)
        raw = encode_cohort(Proposal(replace(heading, **changes), ids), PAIRS[LEADER].sign)
        world._line.publish(place, raw, False)
        return raw

    for count in (1, 3):
        say(1, ours[:count])
    say(1, foreign)
    say(1, ours, task=bytes(32))
    say(1, ours, group=1)
    say(1, ours, round=2)
    for count in (MOST_IN_COHORT + 1, 10**6):
        world._line.publish(place, too_many_ids(count), False)
    world.until(lambda: len(world.declined) >= 6, "not everything is declined")
    assert not world.answers
    assert world.count(HELPER, "share") == 10
    first = say(1, ours[:5])
    world.until(lambda: len(world.answers) == 1, "nothing is opened")
    world._line.publish(place, first, False)  # again, and two that overlap with it
    say(2, ours[2:8])
    say(3, ours[:5])
    world.until(lambda: len(world.declined) >= 8, "what overlaps is not declined")
    assert [len(said) for said in world.answers.values()] == [1]
    assert sorted(world.opened(HELPER)) == list(ours[:5])
    assert world.count(HELPER, "share") == 5
    assert world.children[HELPER].poll() is None
    # Of a million the broker has spared it: that is more than it has asked for (MQTT 5).
    assert world.count(HELPER, "refused") == 1


def too_many_ids(count: int) -> bytes:
    """A proposal that its leader has signed."""
    body = {"message": "proposal", "task": TASK.digest, "stage": "final", "number": 1, "group": 0}
    packed = msgpack.packb(body | {"ids": os.urandom(ID_BYTES * count)})
    signature = PAIRS[LEADER].sign(b"fsir cohort message\0leader\0" + packed)
    envelope = {"v": 1, "kind": "cohort", "by": LEADER, "body": packed, "signature": signature}
    raw: bytes = msgpack.packb(envelope)
    return raw


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
        (("--role", "helper", "--role-key", "helper.key", "--wait", "5"), "to the leader alone"),
        (("--role", "leader", "--role-key", "helper.key", "--wait", "-1"), "0 or more"),
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
