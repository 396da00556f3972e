"""Data as streams of devices behind one interface: every module here gives a `Population`."""

from sim_devices.datasets.population import (
    DataError,
    DeviceStream,
    Population,
    with_levels,
    with_shuffled_responses,
)

__all__ = ["DataError", "DeviceStream", "Population", "with_levels", "with_shuffled_responses"]
