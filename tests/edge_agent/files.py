"""Files of records for the tests of sources."""

from __future__ import annotations

import csv
import json


def drain(source, limit=1000):
    """Everything that a source has now."""
    records = []
    while batch := source.poll(limit):
        records += batch
    return records


def write(tmp_path, kind, rows):
    path = tmp_path / f"data.{kind}"
    if kind == "csv":
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["a", "b", "y"])
            table.writerows(rows)
    else:
        path.write_text(
            "".join(json.dumps(dict(zip("aby", row, strict=True))) + "\n" for row in rows)
        )
    return path
