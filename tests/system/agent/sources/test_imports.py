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
