"""Tables that somebody might bring: invented ones, and scikit-learn's with a device column."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from sklearn import datasets

CLASSES = ("rest", "walk", "climb")
HEADER = ("person", "a", "b", "c", "d", "activity")
DEVICES = {"wine": 20, "breast_cancer": 30, "digits": 40, "diabetes": 30}


def records(people=12, each=60, seed=0, numeric=False):
    """Rows of a table about people: four features, three classes that two of them tell apart."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(people):
        shift = 0.4 * rng.normal(size=4)
        for _ in range(each):
            h = int(rng.integers(3))
            x = shift + rng.normal(size=4) + np.array([2.0 * (h == 1), 2.0 * (h == 2), 0.0, 0.0])
            y = float(x[0] - x[1] + 0.5 * rng.normal()) if numeric else CLASSES[h]
            rows.append([f"person-{k:02d}", *x.round(4).tolist(), y])
    return rows


def write(path, rows, header=HEADER):
    """The table as a file."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def frame(rows, header=HEADER):
    """The table as a mapping of columns."""
    return {name: [row[k] for row in rows] for k, name in enumerate(header)}


def bundled(name, folder):
    """One of scikit-learn's tables, its rows in random order dealt out to devices in turn."""
    table = getattr(datasets, f"load_{name}")()
    order = np.random.default_rng(0).permutation(len(table.data))
    label = table.target_names if name in ("wine", "breast_cancer") else None
    rows = [
        [
            f"device-{k % DEVICES[name] + 1:02d}",
            *table.data[i].tolist(),
            table.target[i] if label is None else label[table.target[i]],
        ]
        for k, i in enumerate(order)
    ]
    header = ["device", *(str(feature) for feature in table.feature_names), "target"]
    return write(folder / f"{name}.csv", rows, header)
