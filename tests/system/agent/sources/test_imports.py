"""What the sources bring along into the process of an agent."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from importlib import import_module
from edge_agent.sources import SCHEMES
for place in SCHEMES.values():
    import_module(place.partition(":")[0])
heavy = {"scipy", "pandas", "river", "sklearn", "matplotlib", "aggregator", "sim_devices"} & {
    name.split(".")[0] for name in sys.modules}
sys.exit(f"imported: {heavy}" if heavy else 0)
"""


def test_no_source_imports_more_than_a_device_has():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


ONE = """
import sys
import edge_agent.cli, edge_agent.commands.run
from edge_agent.sources import SCHEMES, open_source
from edge_agent.sources.base import Options
open_source("jsonl:" + sys.argv[1], Options()).close()
rooms = ("home", "iio", "phone", "termux", "windowed", "mqtt_topic", "csv_file")
extra = [name for name in sys.modules if name.split("edge_agent.sources.")[-1].startswith(rooms)]
sys.exit(f"imported: {extra}" if extra else 0)
"""


def test_a_source_brings_no_other_along(tmp_path):
    (tmp_path / "a.jsonl").touch()
    words = [sys.executable, "-c", ONE, str(tmp_path / "a.jsonl")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
