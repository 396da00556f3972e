"""Where records come from. `open_source("csv:FILE", options)` finds the source by its scheme."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from edge_agent.errors import SourceError
from edge_agent.sources.base import ENTRY_POINTS, Options, Source

# Each is imported only if it is used: an agent should start fast and stay small.
SCHEMES = {
    "csv": "edge_agent.sources.csv_file:CsvFile",
    "jsonl": "edge_agent.sources.jsonl:open_jsonl",
    "mqtt": "edge_agent.sources.mqtt_topic:open_mqtt",
    "iio": "edge_agent.sources.iio.source:open_iio",
    "sensorlogger": "edge_agent.sources.phone.source:open_sensorlogger",
    "termux": "edge_agent.sources.termux.source:open_termux",
    "signals": "edge_agent.sources.recording:open_recording",
}
# Those of them that read a file, whose name is its absolute path.
FILES = ("csv", "jsonl", "signals")


def open_source(address: str, options: Options) -> Source:
    """The source at `scheme:rest`, paced if the options ask for it."""
    scheme, colon, rest = address.partition(":")
    if not colon or not rest:
        raise SourceError(
            f"source {address!r}: write scheme:rest, for example csv:readings.csv; "
            f"schemes: {_known()}"
        )
    source: Source = _factory(scheme, address)(rest, options)
    if options.time_column is not None:
        from edge_agent.sources.paced import Paced

        return Paced(source, options.time_column, options.speed or 1.0)
    return source


def name_of_file(address: str) -> str | None:
    """The name that a source has which reads a file; None for any other.

    >>> name_of_file("jsonl:-") is None, name_of_file("csv:/srv/../walk.csv")
    (True, 'csv:/walk.csv')
    """
    scheme, _, rest = address.partition(":")
    return f"{scheme}:{Path(rest).resolve()}" if scheme in FILES and rest not in ("", "-") else None


def _factory(scheme: str, address: str) -> Any:
    """A callable `(rest, options) -> Source`."""
    if scheme in SCHEMES:
        module, name = SCHEMES[scheme].split(":")
        return getattr(import_module(module), name)
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS, name=scheme):
        return point.load()
    raise SourceError(f"source {address!r}: there is no scheme {scheme!r}; known are {_known()}")


def _known() -> str:
    from importlib.metadata import entry_points

    return ", ".join([*SCHEMES, *sorted(point.name for point in entry_points(group=ENTRY_POINTS))])
