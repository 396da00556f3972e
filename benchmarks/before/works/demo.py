"""Seconds of `fsir-sim demo`, as `make demo` runs it after set-up."""

import subprocess
import sys
import tempfile
import time

with tempfile.TemporaryDirectory() as place:
    start = time.perf_counter()
    command = [sys.executable, "-m", "sim_devices", "demo", "--out", place]
    subprocess.run(command, check=True, capture_output=True)
    print(time.perf_counter() - start)
