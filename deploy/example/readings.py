#!/usr/bin/env python3
"""Made-up readings of one person's motion sensor as CSV, to try a federation before your own \
sensors are ready.

    python3 deploy/example/readings.py --seed 1 --records 3000 > readings.csv

The columns are those of `task.toml` beside this file. One seed is one person.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys

COLUMNS = ("acc-x-mean", "acc-y-mean", "acc-z-mean", "acc-std", "gyro-std", "light")
TYPICAL = {
    "lying": (0.1, 0.9, 0.2, 0.03, 0.05, 0.3),
    "sedentary": (0.8, 0.2, 0.3, 0.06, 0.10, 0.5),
    "active": (0.8, 0.1, 0.3, 0.40, 0.80, 0.6),
}
SPREAD = (0.15, 0.15, 0.15, 0.05, 0.10, 0.20)
STAY = 0.95  # people go on with what they do: the chance that the next window is the same activity


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--records", type=int, default=3000)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    habit = [rng.gauss(0.0, 0.3 * spread) for spread in SPREAD]  # how this person wears the sensor
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow([*COLUMNS, "activity"])
    activity = "sedentary"
    for _ in range(options.records):
        if rng.random() > STAY:
            activity = rng.choice(list(TYPICAL))
        middle = zip(TYPICAL[activity], habit, SPREAD, strict=True)
        readings = [rng.gauss(typical + own, spread) for typical, own, spread in middle]
        table.writerow([*(f"{reading:.4f}" for reading in readings), activity])


if __name__ == "__main__":
    main()
