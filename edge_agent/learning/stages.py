"""Which report of a task comes next, and who learns for it."""

from __future__ import annotations

from dataclasses import replace

from edge_agent.learning.draft import Draft
from edge_agent.learning.kept import RowsLearner, moments_of
from edge_agent.learning.learner import Learner, MomentsLearner
from edge_agent.state.made import Made, last_round
from edge_agent.state.rows import Progress
from edge_agent.state.state import State
from fsir.privacy.plan import SCREENING, Stage, final_stage, first_stage
from fsir.task.task import Task


def same_records(task: Task) -> bool:
    """Whether both reports of a task are about the same records."""
    return task.screening is not None and not task.asks_for_fresh_records


def next_stage(task: Task, made: Made, active: tuple[str, ...] | None) -> Stage | None:
    """The stage whose report comes next; None while there is nothing to do."""
    if last_round(made) >= task.rounds:
        return None
    if task.screening is None:
        return first_stage(task)
    if active is not None:
        return final_stage(task, task.features.indices(active))
    return None if SCREENING in made else first_stage(task)


def restored_draft(state: State, task: Task, stage: Stage | None, progress: Progress) -> Draft:
    """The report that comes next, as far as the state file has it."""
    return Draft(_restored_learner(state, task, stage, progress), progress.first, progress.last)


def _restored_learner(
    state: State, task: Task, stage: Stage | None, progress: Progress
) -> Learner | None:
    if stage is None:
        return None
    if same_records(task) and stage.name == SCREENING:
        return RowsLearner(task, stage, state.kept_count(task.name), progress.learned)
    return MomentsLearner.restored(task, stage, progress.learned)


def second_draft(state: State, task: Task, stage: Stage | None, first: Draft) -> Draft:
    """The report about the active set: from the records of the first one, or from fresh ones."""
    if not same_records(task):
        return Draft(None if stage is None else MomentsLearner(task, stage))
    if stage is None:
        return replace(first, learner=None)
    moments = moments_of(task, stage, state.kept(task.name, task.p))
    moments.refused = dict(first.refused)  # whose null records are among the rows
    return replace(first, learner=MomentsLearner(task, stage, moments))
