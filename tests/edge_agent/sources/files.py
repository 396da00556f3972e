"""Files of records for the tests of sources."""

from __future__ import annotations

import csv
import json

from edge_agent.records import START


def drain(source, limit=1000):
    """Everything that a source has now."""
    records = []
    while batch := source.poll(limit):
        records += batch
    return records


def contents(source):
    """The values of each record of a source that ends; it never raises."""
    source.resume(START)
    values = []
    while not source.ended:
        values += [dict(record.x) for record in source.poll(7)]
    source.close()
    return values


def stored(position):
    """A position as it comes back from the state file."""
    return type(position)(position.ordinal, json.loads(json.dumps(position.cursor)))


def put(path, content):
    """Write bytes."""
    path.write_bytes(content)
    return path


def write(tmp_path, kind, rows):
    """A table with the columns a, b, y."""
    path = tmp_path / f"data.{kind}"
    if kind == "csv":
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["a", "b", "y"])
            table.writerows(rows)
    else:
        records = [dict(zip("aby", row, strict=True)) for row in rows]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
