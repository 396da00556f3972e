"""What a device is doing in a task."""

from __future__ import annotations

from enum import StrEnum

from edge_agent.state.made import Made
from fsir.privacy.plan import FINAL, SCREENING


class Phase(StrEnum):
    """Where a device stands in a task."""

    WAITING = "waiting for the task"
    LEARNING = "learning"
    HELD = "held"
    SCREENED = "waiting for the active set"
    REPORTED = "waiting for the receipt"
    RESTING = "waiting for the next round"
    SERVING = "serving"
    STOPPED = "stopped"

    @classmethod
    def of(
        cls,
        made: Made,
        *,
        done: bool,
        active: bool,
        full: bool,
        pending: int,
        stopped: str = "",
        held: str = "",
    ) -> Phase:
        """The phase of an accepted task, from the reports that were `made`.

        `done`: whether there is no next one; `active`: whether the active set is known; `full`:
        whether the records of the next report are there; `pending`: reports without a receipt;
        `stopped` and `held`: why.

        >>> Phase.of({}, done=False, active=False, full=False, pending=0).value
        'learning'
        """
        if stopped:
            return cls.STOPPED
        if done:
            return cls.REPORTED if pending else cls.SERVING
        if SCREENING in made and not active:
            return cls.SCREENED
        if held or not full:
            return cls.HELD if held else cls.LEARNING
        if FINAL in made:
            return cls.REPORTED if pending else cls.RESTING
        return cls.LEARNING
