"""What an agent costs its device; the figures come from benchmarks/agent_footprint.py."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks import agent_footprint
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import command, write_jsonl
from tests.fsir.tasks import screened

pytestmark = pytest.mark.broker

# What a device needs for a report, for a subspace, after a mistake, or under another kind of task:
# its first record does not wait for any of it.
LATER = (
    "edge_agent.labels.topic",
    "edge_agent.learning.projection",
    "edge_agent.learning.report",
    "edge_agent.mqtt.listening",
    "edge_agent.recognition",
    "edge_agent.state.tables.memory",
    "fsir.estimate",
    "fsir.net.certificates",
    "fsir.net.probe",
    "fsir.net.tls",
    "fsir.privacy.describe",
    "fsir.privacy.normal.words",
    "fsir.privacy.paper",
    "fsir.privacy.release",
    "fsir.privacy.rounds.correlated",
    "fsir.privacy.rounds.groups",
    "fsir.secure",
    "fsir.tables",
    "fsir.task.exact_map",
    "fsir.task.public_map",
    "fsir.wire.packing.codec",
    "fsir.wire.sealed",
    "fsir.wire.shared",
    "fractions",
    "gzip",
    "numpy.typing",
    "secrets",
    "statistics",
)
AND_SAYS_WHAT_IT_LOADED = """
import sys
from edge_agent.cli import main
code = main()
print(*{"ssl", "_ssl", "_hashlib", "http.client", "_socket"} & set(sys.modules))
sys.exit(code)
"""


def test_the_first_record_does_not_wait_for_what_comes_later(mosquitto_url, tmp_path):
    of = screened()
    source = write_jsonl(tmp_path / "data.jsonl", of, 150)
    with TinyAggregator(mosquitto_url, of, active=("x1", "x4")):
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path)
        arguments[1:1] = ["-X", "importtime"]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    before, learned, after = done.stderr.partition("first record learned")
    assert learned
    assert not [name for name in loaded(before) if name.startswith(LATER)]
    # They are needed, and were looked for in the right place.
    assert {"edge_agent.learning.report", "edge_agent.learning.projection"} <= set(loaded(after))


def test_who_needs_neither_encryption_nor_a_proxy_loads_neither(mosquitto_url, tmp_path):
    of = screened()
    source = write_jsonl(tmp_path / "data.jsonl", of, 150)
    with TinyAggregator(mosquitto_url, of, active=("x1", "x4")):
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path)
        assert arguments[1:3] == ["-m", "edge_agent"]
        arguments[1:3] = ["-c", AND_SAYS_WHAT_IT_LOADED]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "final report counted" in done.stderr
    assert done.stdout.splitlines()[-1] == "_socket"


def loaded(told: str) -> list[str]:
    """The modules that the interpreter says it has imported."""
    return [line.rpartition("|")[2].strip() for line in told.splitlines() if "|" in line]


@pytest.mark.slow
def test_memory_stays_close_to_that_of_the_libraries_and_does_not_grow(mosquitto):
    figures = agent_footprint.run(rounds=2, records=200_000)
    assert figures["resident memory / bare import"] <= 1.2
    assert figures["growth over a million records (MB)"] < 1.0
