"""What is in a label file."""

from __future__ import annotations

from edge_agent.labels.tail import Tail


def tail_of(directory):
    """The label file of a directory, read once."""
    tail = Tail(directory)
    tail.refresh()
    return tail
