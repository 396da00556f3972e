"""What an export says of a subspace: every number that its use needs, and what it is worth."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from fsir.privacy.claims import statement
from fsir.privacy.plan import final_stage
from fsir.privacy.quantiser import Quantiser
from fsir.task.task import Task
from fsir.wire.messages import Classifier, Subspace


def fields(task: Task, subspace: Subspace) -> dict[str, Any]:
    """Everything about a subspace by name: texts, numbers, lists of texts, and arrays."""
    chosen = list(task.features.indices(subspace.features))
    values: dict[str, Any] = {
        "task": task.name,
        "digest": task.digest.hex(),
        "version": subspace.version,
        "features": list(subspace.features),
        "centre": np.array(task.features.centre)[chosen],
        "scale": np.array(task.features.scale)[chosen],
        "basis": subspace.basis,
        "singular_values": subspace.singular_values,
        "noise_level": subspace.noise_level,
        "expected_error": subspace.expected_error,
        "devices": subspace.devices,
        "records": subspace.records,
        "refused": subspace.refused,
        "notes": list(subspace.notes),
        "response": task.response.name,
    }
    if subspace.expected_accuracy is not None:
        values["expected_accuracy"] = subspace.expected_accuracy
    if subspace.classifier is None:
        values["cuts"] = np.array(task.response.cuts)
    else:
        values |= _of_classifier(subspace.classifier)
        values |= _bounds(task, tuple(chosen))
    return values | _promise(task)


def _of_classifier(classifier: Classifier) -> dict[str, Any]:
    values: dict[str, Any] = {
        "classes": list(classifier.classes),
        "weights": classifier.weights,
        "bias": classifier.bias,
        "centroids": classifier.centroids,
        "temperature": classifier.temperature,
        "guess": classifier.guess,
        "doubtful": list(classifier.doubtful),
    }
    if classifier.basis is not None:
        values["classifier_basis"] = classifier.basis
    if classifier.whitening is not None and classifier.centres is not None:
        values["map_whitening"] = classifier.whitening
        values["map_centres"] = classifier.centres
    return values


def _bounds(task: Task, chosen: tuple[int, ...]) -> dict[str, Any]:
    """How far a record reaches before it is classified: truncation alone, or also the clip."""
    if task.public is not None:
        bounds = {"truncate": task.clip.truncate}
        return bounds if task.public.map is None else bounds | {"map": task.public.matrix(task.p)}
    stage = final_stage(task, chosen)
    quantiser = Quantiser(task, stage)
    return {
        "truncate": stage.truncate,
        "norm": stage.norm,
        "grid": stage.grid,
        "steps": int(quantiser.reach),  # of the grid, to the truncation
        "longest": math.floor(Fraction(quantiser.norm) ** 2),  # square of a length, in steps
    }


def _promise(task: Task) -> dict[str, Any]:
    """What those who took part were promised."""
    known = statement(task)
    return {
        "epsilon": task.privacy.epsilon,
        "delta": task.privacy.delta,
        "unit_records": task.privacy.unit_records,
        "mechanism": known.mechanism,
        "proven": known.proven,
        "statement": known.reason,
    }
