"""From the raw sensor to features on one core:
how much faster than the signal, and in how much memory.

    python -m benchmarks.signal_pipeline

The signal comes in chunks of one second, as from a phone, with jittered times. The run happens in a
process of its own: one thread, and memory counted from where the interpreter and numpy (with BLAS
and FFT warmed up) stand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tracemalloc

import numpy as np

SECONDS = 600
BAR_FACTOR = 200.0
BAR_MEMORY_MB = 2.0
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def run() -> dict[str, float]:
    """Real-time factor (seconds of signal per second) and memory (MB, code and data)."""
    figures = _child("speed") | _child("memory")
    print(f"real-time factor {figures['real_time_factor']:.0f} (at least {BAR_FACTOR:.0f})")
    print(
        f"memory beyond interpreter and numpy {figures['memory_mb']:.2f} MB (less than "
        f"{BAR_MEMORY_MB} MB)"
    )
    return figures


def _child(mode: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.signal_pipeline", mode]
    done = subprocess.run(
        command, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=True
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _stream() -> int:
    """Ten minutes of someone walking, chunk by chunk; the number of records that came out."""
    from edge_agent.signal.features import features, scale
    from edge_agent.signal.windows import Windower

    rng = np.random.default_rng(0)
    windower = Windower()
    records = 0
    for second in range(SECONDS):
        times = 1.7e9 + second + (np.arange(50) + 0.5) / 50 + rng.uniform(-0.004, 0.004, 50)
        swing = np.sin(2 * np.pi * 1.9 * (times[:, None] - 1.7e9)) + rng.normal(0, 0.05, (50, 3))
        for window in windower.push(times, 0.3 * swing + np.array([0.9, 0.1, 0.2]), swing):
            records += len(scale(features(window.signals[None])))
    return records


def _speed() -> dict[str, float]:
    _stream()
    started = time.process_time()
    records = _stream()
    return {
        "real_time_factor": SECONDS / (time.process_time() - started),
        "records": float(records),
    }


def _private() -> float:
    """MB that this process alone holds. Pages of numpy's own library,
    which its calls bring in, are numpy's."""
    with open("/proc/self/status") as file:
        return next(
            int(line.split()[1]) * 1024 / 1e6 for line in file if line.startswith("RssAnon")
        )


def _memory() -> dict[str, float]:
    np.random.default_rng(0).normal(size=(128, 128)) @ np.ones((128, 6))
    np.abs(np.fft.rfft(np.ones((13, 128))))
    before = _private()
    _stream()
    grown = _private() - before
    # Traced in a second run, since tracing itself takes memory: what the data need at their peak,
    # without the code.
    tracemalloc.start()
    _stream()
    return {"memory_mb": grown, "traced_peak_mb": tracemalloc.get_traced_memory()[1] / 1e6}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps({"speed": _speed, "memory": _memory}[sys.argv[1]]()))
    else:
        run()
