#!/usr/bin/env python3
"""Writes the task that goes with raw motion sensors: three levels of activity from 561 features, \
as TOML.

    .venv/bin/python deploy/example/activity_raw.py > task.toml

Nothing in it comes from anybody's data: the features are scaled by physics already, and clips and \
shares are those with
which `fsir-sim hapt` reports its accuracy. One sample is in two windows, hence `unit_records = \
2`. docs/task.md
explains the fields, docs/sensors.md how devices get at such records.
"""

from __future__ import annotations

import argparse
import json

from edge_agent.signal.features import FEATURE_NAMES
from edge_agent.signal.grid import unit_records

TASK = """\
# Three levels of activity from an accelerometer and a gyroscope; written by \
deploy/example/activity_raw.py.
name = "{name}"

[features]
names = [
{names}
]
centre = 0.0  # the agent has scaled them to [-1, 1]
scale = 1.0

[response]
name = "activity"
classes = ["active", "sedentary", "lying"]

[clip]
truncate = 1.0
norm = 18.0

[privacy]
epsilon = {epsilon}
delta = 1e-6
unit_records = {unit}

[report]
records = {records}  # windows of 2.56 s that overlap by half: {minutes:.0f} minutes of labelled \
motion
max_delay = 600.0

[screening]
method = "dense"
records = "same"
share = 0.6
select = "per_slice"
keep = 4
limit = 8
code = "simplex"
quorum = {devices}
wait_seconds = 604800.0
final_norm_factor = 0.55
"""


def main() -> None:
    """Write the task."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--name", default="activity", help="of the task (default %(default)s)")
    parser.add_argument(
        "--epsilon", type=float, default=1.0, help="total budget of a device (default %(default)s)"
    )
    parser.add_argument(
        "--records", type=int, default=1000, help="windows in a report (default %(default)s)"
    )
    parser.add_argument(
        "--devices", type=int, default=10, help="that take part (default %(default)s)"
    )
    options = parser.parse_args()
    names = "\n".join(f"  {json.dumps(name)}," for name in FEATURE_NAMES)
    text = TASK.format(
        name=options.name,
        names=names,
        epsilon=options.epsilon,
        unit=unit_records(),
        records=options.records,
        minutes=options.records * 1.28 / 60,
        devices=options.devices,
    )
    print(text, end="")


if __name__ == "__main__":
    main()
