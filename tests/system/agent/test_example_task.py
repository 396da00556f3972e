"""The example task for raw sensors is the one with which the simulator reports its accuracy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from edge_agent.signal.features import FEATURE_NAMES
from fsir.contract import load_task
from sim_devices.datasets.population import LEVELS, DeviceStream, Population
from sim_devices.scenarios.scenarios import activities
from sim_devices.scenarios.tasks import Setting, build

SCRIPT = Path(__file__).resolve().parents[3] / "deploy" / "example" / "activity_raw.py"


def test_the_example_has_the_constants_of_the_simulator(tmp_path):
    numbers = ["--epsilon", "1.0", "--records", "500", "--devices", "4"]
    arguments = [sys.executable, SCRIPT, "--name", "raw", *numbers]
    written = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=True)
    (tmp_path / "task.toml").write_text(written.stdout)
    task = load_task(tmp_path / "task.toml")
    row = np.zeros((1, len(FEATURE_NAMES)))
    people = tuple(DeviceStream(f"person-{k}", row, np.array([LEVELS[0]])) for k in range(4))
    scenario = activities(
        Population(name="raw", features=FEATURE_NAMES, classes=LEVELS, devices=people, unseen=()),
        None,
    )
    simulated = build(
        scenario.population, scenario.geometry, Setting(epsilon=1.0, unit_records=2, records=500)
    )
    assert task.report._replace(max_delay=0.0) == simulated.report._replace(max_delay=0.0)
    screening = simulated.screening._replace(wait_seconds=0.0)
    assert task.screening._replace(wait_seconds=0.0) == screening
    for section in ("name", "features", "response", "clip", "privacy"):
        assert getattr(task, section) == getattr(simulated, section)
