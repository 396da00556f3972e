"""Seconds of processor time for `fsir-sim demo --help`."""

import resource
import subprocess
import sys


def spent() -> float:
    """Processor time of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


times = []
for _ in range(3):
    start = spent()
    command = [sys.executable, "-m", "sim_devices", "demo", "--help"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    times.append(spent() - start)
print(min(times))
