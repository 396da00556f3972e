"""A generator that starts from a seed looks right inside one process; two of them give it away."""

from __future__ import annotations

import pytest

from sim_devices.audit.pairs import AuditError
from sim_devices.audit.shipped import cases, processes

CASE = cases.one_stage()
SEEDED = """
import random
import fsir.privacy.noise as noise
generator = random.Random(7)
noise.SystemNoise._bytes = lambda self, count: generator.randbytes(count)
"""


def test_two_processes_have_nothing_in_common():
    assert processes.repeated_noise(CASE.task, CASE.streams.first) == []


def test_a_seed_is_found(monkeypatch):
    monkeypatch.setattr(processes, "_CHILD", SEEDED + processes._CHILD)
    told = processes.repeated_noise(CASE.task, CASE.streams.first)
    assert told == ["the same numbers in the final report: the noise has a seed, or there is none"]


def test_a_process_that_fails_is_an_error(monkeypatch):
    monkeypatch.setattr(processes, "_CHILD", "raise SystemExit(3)")
    with pytest.raises(AuditError, match="process of its own"):
        processes.repeated_noise(CASE.task, CASE.streams.first)
