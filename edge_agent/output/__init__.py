"""Where served records go: standard output, a file, programs of this device, the owner's broker."""

from __future__ import annotations

import sys

from edge_agent.errors import SourceError
from edge_agent.output.base import Output, Several
from edge_agent.output.lines import Lines
from edge_agent.output.local import OWNER_ONLY, LocalSocket

__all__ = ["Lines", "LocalSocket", "Output", "Several", "open_output"]


def open_output(address: str, mode: int = OWNER_ONLY, group: str | None = None) -> Output:
    """`-` for standard output, `unix:PATH` for a socket, anything else is a file to append to.

    mode, group: who may connect to the socket.
    """
    if address.startswith("unix:"):
        return LocalSocket(address.removeprefix("unix:"), mode, group)
    if address == "-":
        return Lines(sys.stdout)
    try:
        return Lines(open(address, "a", encoding="utf-8"))
    except OSError as error:
        raise SourceError(
            f"output {address}: {error.strerror}; give a file that can be written"
        ) from None
