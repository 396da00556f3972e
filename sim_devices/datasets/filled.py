"""Streams of the same length: a device that runs out of windows offers unlabelled ones.

A report of a task of version 2 is about so many *offered* records, and one without a label counts
as empty. So a task may ask for as many records as the longest stream has, and nothing that was
recorded is thrown away.
"""

from __future__ import annotations

import numpy as np

from sim_devices.datasets.population import DeviceStream, Population

UNLABELLED = ""  # no task has such a class: an agent refuses the record and counts it
UNMEASURED = np.nan  # the same for a number
CAVEAT = "shorter streams are filled up with unlabelled windows"


class Offered(DeviceStream):
    """What a device meets: its records, and at the end some of which nobody knows the response."""

    def __post_init__(self) -> None:
        """Nothing to check: its records were checked, and the others may be NaN."""


def filled(stream: DeviceStream, records: int) -> DeviceStream:
    """The stream with unlabelled windows at its end, if it has fewer records than that.

    >>> short = DeviceStream("phone", np.ones((1, 2)), np.array(["sit"]))
    >>> filled(short, 3).y.tolist()
    ['sit', '', '']
    """
    lacking = records - len(stream)
    if lacking <= 0:
        return stream
    unknown = UNLABELLED if stream.y.dtype.kind == "U" else UNMEASURED
    X = np.concatenate([stream.X, np.zeros((lacking, stream.X.shape[1]))])
    y = np.concatenate([stream.y, np.full(lacking, unknown, stream.y.dtype)])
    return Offered(stream.device, X, y)


def longest(population: Population) -> int:
    """Records of the device that has most."""
    return max(len(stream) for stream in population.devices)


def shortest(population: Population) -> int:
    """Records of the device that has fewest."""
    return min(len(stream) for stream in population.devices)
