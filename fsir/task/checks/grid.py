"""What a task may say about the grid of its records: a finer one, where no noise would cover it.

Without noise what a device adds up is as exact as its grid, and that of `bits` steps is finer than
what 16 bits hold, in which records are kept for a second report. Sums of squares must stay below
2^53, so that there is room for fewer records.
"""

from __future__ import annotations

from fsir.errors import TaskError
from fsir.task.task import Task

FEWEST_BITS = 15
MOST_BITS = 20
_EXACT_BITS = 53  # of whole numbers in float64


def check_grid(task: Task) -> None:
    """Whether a finer grid fits the rest of the task."""
    if task.clip.bits is None:
        return
    if task.privacy.mechanism != "none":
        remedy = f"the noise of {task.privacy.mechanism!r} is coarser than any grid; leave it out"
        raise TaskError("clip.bits", task.clip.bits, remedy)
    others = {"screening": task.screening, "public": task.public, "secure": task.secure}
    if said := [name for name, section in others.items() if section is not None]:
        remedy = f"a task with [{said[0]}] has the grid that it needs; leave one of both out"
        raise TaskError("clip.bits", task.clip.bits, remedy)
    most = 2 ** (_EXACT_BITS - 2 * task.clip.bits) - 1
    if task.report.records is not None and task.report.records > most:
        remedy = f"on a grid of clip.bits = {task.clip.bits} at most {most} add up; lower either"
        raise TaskError("report.records", task.report.records, remedy)
