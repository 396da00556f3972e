"""Federated sliced inverse regression with differential privacy: the mathematics, no sockets.

Devices sum up their own records, add noise once and publish whole numbers; whoever adds these up
gets the few linear combinations of the features that explain a response. Everything that a study
needs stands here, and is loaded when it is used:

    >>> import numpy as np
    >>> import fsir

A task is the public contract: what is measured, how far a record may reach, what may be spent.

    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b", "c", "d"]},
    ...     "response": {"name": "y", "cuts": [-1.0, 0.0, 1.0]},
    ...     "clip": {"truncate": 3.0, "norm": 4.0},
    ...     "privacy": {"epsilon": 8.0, "delta": 1e-6},
    ...     "report": {"records": 5000},
    ...     "dimension": 1,
    ... })
    >>> print(fsir.describe(task).splitlines()[2])
    What is learned: which combinations of 4 features explain 'y' (a number, in 4 intervals).

Three devices, whose responses depend on one direction. Each learns its records and releases their
moments; a real device draws `SystemNoise`.

    >>> direction = np.array([[0.6], [-0.8], [0.0], [0.0]])
    >>> stage = fsir.first_stage(task)
    >>> totals = fsir.Totals(stage)
    >>> for device in range(3):
    ...     rng = np.random.default_rng(device)
    ...     X = rng.normal(size=(5000, 4))
    ...     y = (X @ direction)[:, 0] + 0.2 * rng.normal(size=5000)
    ...     moments = fsir.Moments(task, stage)
    ...     moments.learn_many(X, y)
    ...     totals.add(fsir.release(moments, fsir.SeededNoise(device)))

The estimate sees the noisy sums alone, and says how far off it expects to be.

    >>> subspace = fsir.estimate_subspace(task, totals)
    >>> subspace.devices, subspace.records, subspace.dimension
    (3, 15000, 1)
    >>> bool(fsir.projection_loss(subspace.basis, direction) < 0.05 > subspace.expected_error)
    True

Back on a device, or wherever the subspace is used: a transformer as scikit-learn has them.
`fsir.load` reads one from a file or from an aggregator's store.

    >>> fitted = fsir.Subspace(task, subspace)
    >>> fitted.transform([[0.6, -0.8, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0]]).round(1) + 0.0
    array([[-1.],
           [ 0.]])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsir.contract import decode_task, load_task, task_from_table
    from fsir.errors import FsirError
    from fsir.estimate.projection import Projector
    from fsir.estimate.subspace import angles, projection_loss
    from fsir.estimate.subspace import estimate as estimate_subspace
    from fsir.estimate.totals import Totals
    from fsir.fitted.federate import federate
    from fsir.fitted.load import load
    from fsir.fitted.subspace import Subspace
    from fsir.privacy.accounting import delta_of, epsilon_of, mu_of
    from fsir.privacy.claims import statement
    from fsir.privacy.describe import describe
    from fsir.privacy.moments import Moments
    from fsir.privacy.noise import SeededNoise, SystemNoise
    from fsir.privacy.plan import final_stage, first_stage
    from fsir.privacy.release import Release, release
    from fsir.task.task import Task
    from fsir.wire.messages import Subspace as SubspaceMessage

__all__ = [
    "FsirError",
    "Moments",
    "Projector",
    "Release",
    "SeededNoise",
    "Subspace",
    "SubspaceMessage",
    "SystemNoise",
    "Task",
    "Totals",
    "angles",
    "decode_task",
    "delta_of",
    "describe",
    "epsilon_of",
    "estimate_subspace",
    "federate",
    "final_stage",
    "first_stage",
    "load",
    "load_task",
    "mu_of",
    "projection_loss",
    "release",
    "statement",
    "task_from_table",
]

# Where each name lives: a device must not load more than it uses.
_ROOMS = {
    "fsir.contract": ("decode_task", "load_task", "task_from_table"),
    "fsir.errors": ("FsirError",),
    "fsir.estimate.projection": ("Projector",),
    "fsir.estimate.subspace": ("angles", "estimate_subspace", "projection_loss"),
    "fsir.estimate.totals": ("Totals",),
    "fsir.fitted.federate": ("federate",),
    "fsir.fitted.load": ("load",),
    "fsir.fitted.subspace": ("Subspace",),
    "fsir.privacy.accounting": ("delta_of", "epsilon_of", "mu_of"),
    "fsir.privacy.claims": ("statement",),
    "fsir.privacy.describe": ("describe",),
    "fsir.privacy.moments": ("Moments",),
    "fsir.privacy.noise": ("SeededNoise", "SystemNoise"),
    "fsir.privacy.plan": ("final_stage", "first_stage"),
    "fsir.privacy.release": ("Release", "release"),
    "fsir.task.task": ("Task",),
    "fsir.wire.messages": ("SubspaceMessage",),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}
# `fsir.estimate` is a package, and people mean the estimator by `Subspace`: these two have to go by
# another name here.
_RENAMED = {"estimate_subspace": "estimate", "SubspaceMessage": "Subspace"}

if not TYPE_CHECKING:  # a type checker reads the imports above, and would take this for anything

    def __getattr__(name: str) -> object:
        """One of the names above, from its home (PEP 562)."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), _RENAMED.get(name, name))
        globals()[name] = value  # the next time it is found without asking here
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
