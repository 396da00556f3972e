"""Where records come from. `open_source("csv:FILE")` finds the source by its scheme."""

from __future__ import annotations

from collections.abc import Callable

from edge_agent.errors import SourceError
from edge_agent.sources.base import ENTRY_POINTS, Options, Source

SCHEMES = ("csv", "jsonl", "mqtt")


def open_source(address: str, options: Options) -> Source:
    """The source at `scheme:rest`, paced if the options ask for it."""
    scheme, colon, rest = address.partition(":")
    if not colon or not rest:
        raise SourceError(f"source {address!r}: write scheme:rest, for example csv:readings.csv; schemes: {_known()}")
    source = _factory(scheme, address)(rest, options)
    if options.time_column is not None:
        from edge_agent.sources.replay import Paced

        return Paced(source, options.time_column, options.speed or 1.0)
    return source


def _factory(scheme: str, address: str) -> Callable[[str, Options], Source]:
    # Each is imported only if it is used: an agent should start fast and stay small.
    if scheme == "csv":
        from edge_agent.sources.csv import CsvFile

        return CsvFile
    if scheme == "jsonl":
        from edge_agent.sources.jsonl import open_jsonl

        return open_jsonl
    if scheme == "mqtt":
        from edge_agent.sources.mqtt import SensorTopic

        return SensorTopic
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS, name=scheme):
        factory: Callable[[str, Options], Source] = point.load()
        return factory
    raise SourceError(f"source {address!r}: there is no scheme {scheme!r}; known are {_known()}")


def _known() -> str:
    from importlib.metadata import entry_points

    return ", ".join([*SCHEMES, *sorted(point.name for point in entry_points(group=ENTRY_POINTS))])
