"""People invented by several processes at once; each person depends on the seed and a number alone.

A process gets its share as an argument and writes arrays to standard output. It is a program of its
own: whoever calls this may have threads, which a fork would not survive, or a main module that must
not run again.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Sequence

import numpy as np

from sim_devices.cores import cores
from sim_devices.datasets.population import DataError, DeviceStream
from sim_devices.datasets.synthetic_stream import name_of, stream

_WINDOWS_EACH = 2000  # that are worth another process


def invented(
    people: int, windows: int, seed: int, columns: list[int], workers: int | None = None
) -> tuple[DeviceStream, ...]:
    """The people of a seed, by as many processes as are worth it, or by so many."""
    if workers is None:
        workers = max(1, min(cores(), people * windows // _WINDOWS_EACH))
    if workers == 1:
        return tuple(stream(1 + k, windows, seed, columns) for k in range(people))
    shares = [range(1 + k, people + 1, workers) for k in range(workers)]
    started = [_start(numbers, windows, seed, columns) for numbers in shares]
    streams: dict[int, DeviceStream] = {}
    try:
        for numbers, process in zip(shares, started, strict=True):
            streams |= _collected(numbers, process)
    except BaseException:
        for process in started:
            with process:  # which waits for its end and closes its pipe
                process.kill()
        raise
    return tuple(streams[number] for number in sorted(streams))


def _start(
    numbers: Sequence[int], windows: int, seed: int, columns: list[int]
) -> subprocess.Popen[bytes]:
    share = json.dumps([list(numbers), windows, seed, columns])
    return subprocess.Popen(
        [sys.executable, "-m", "sim_devices.datasets.inventing", share],
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for whoever waits
    )


def _collected(numbers: Sequence[int], process: subprocess.Popen[bytes]) -> dict[int, DeviceStream]:
    written = io.BytesIO(process.communicate()[0])
    if process.returncode:
        raise DataError(
            f"inventing people {list(numbers)}: process ended with {process.returncode}"
        )
    return {
        number: DeviceStream(name_of(number), np.load(written), np.load(written))
        for number in numbers
    }


def _main() -> None:
    numbers, windows, seed, columns = json.loads(sys.argv[1])
    for person in [stream(number, windows, seed, columns) for number in numbers]:
        np.save(sys.stdout.buffer, person.X)
        np.save(sys.stdout.buffer, person.y)


if __name__ == "__main__":
    _main()
