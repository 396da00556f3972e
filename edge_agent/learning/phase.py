"""What a device is doing in a task."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from fsir.privacy.plan import FINAL, SCREENING


class Phase(StrEnum):
    """Where a device stands in a task."""

    WAITING = "waiting for the task"
    LEARNING = "learning"
    HELD = "held"
    SCREENED = "waiting for the active set"
    REPORTED = "waiting for the receipt"
    SERVING = "serving"
    STOPPED = "stopped"

    @classmethod
    def of(
        cls, made: Collection[str], active: bool, pending: int, stopped: str, held: str = ""
    ) -> Phase:
        """The phase of an accepted task, from the reports that were `made`.

        `active`: whether the active set is known; `pending`: reports without a receipt; `stopped`
        and `held`: why.

        >>> Phase.of({"screening"}, active=False, pending=0, stopped="").value
        'waiting for the active set'
        """
        if stopped:
            return cls.STOPPED
        if FINAL in made:
            return cls.REPORTED if pending else cls.SERVING
        if SCREENING in made and not active:
            return cls.SCREENED
        return cls.HELD if held else cls.LEARNING
