"""What takes served records. Most outputs only write; those with a connection take part in the loop
of the agent, which waits for them and steps them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


class Output:
    """Takes served records."""

    def write(self, served: dict[str, Any]) -> None:
        """One record."""
        raise NotImplementedError

    def flush(self) -> None:
        """Make what was written visible."""

    def close(self) -> None:
        """Let go."""

    # --- for the loop -----------------------------------------------------------------------------

    def welcome(self) -> None:
        """See who has come to listen: before records are written, so that they miss none."""

    def step(self, now: float) -> None:
        """Handle what has arrived, send what is due; never waits."""

    def due(self, now: float) -> float:
        """When to step again if nothing arrives."""
        return math.inf

    def readers(self) -> list[int]:
        """What to wait on."""
        return []

    def writers(self) -> list[int]:
        """What to wait on until more can be sent."""
        return []


class Several(Output):
    """All of some outputs."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = outputs

    def write(self, served: dict[str, Any]) -> None:
        """One record to each."""
        for output in self._outputs:
            output.write(served)

    def flush(self) -> None:
        """Make what was written visible."""
        for output in self._outputs:
            output.flush()

    def close(self) -> None:
        """Let go of all."""
        for output in self._outputs:
            output.close()

    def welcome(self) -> None:
        """To each."""
        for output in self._outputs:
            output.welcome()

    def step(self, now: float) -> None:
        """Step each."""
        for output in self._outputs:
            output.step(now)

    def due(self, now: float) -> float:
        """When the first of them is due."""
        return min((output.due(now) for output in self._outputs), default=math.inf)

    def readers(self) -> list[int]:
        """What all of them wait on."""
        return [descriptor for output in self._outputs for descriptor in output.readers()]

    def writers(self) -> list[int]:
        """And until more can be sent."""
        return [descriptor for output in self._outputs for descriptor in output.writers()]
