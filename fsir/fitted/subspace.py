"""The subspace of a finished federation as a scikit-learn estimator that was fitted elsewhere."""

from __future__ import annotations

import copy
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix
from fsir.errors import shown
from fsir.estimate.projection import Projector
from fsir.fitted import door, export, plot
from fsir.fitted.bases import Estimator
from fsir.fitted.columns import rows_of
from fsir.fitted.errors import InputError
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task
from fsir.wire.messages import Classifier
from fsir.wire.messages import Subspace as Message


class Subspace(Estimator):
    """Turns records into a few numbers and, where the response is a class, names their class.

    What comes out are the numbers that the devices serve, to the last bit: `transform` gives their
    `z`, `predict` their class, and the largest chance of `predict_proba` is their confidence, which
    they round to six digits.

    It is a transformer and a classifier for scikit-learn, and works without it as well. All that it
    knows came from the federation: `fit` changes nothing, and a clone is the same again. Tables may
    be DataFrames, whose columns are taken by name in any order, and others left alone; or arrays
    with one column for each of `feature_names_in_`.

    Parameters
    ----------
    task
        The task: it says how records are standardised and bounded.
    message
        The estimate, as the aggregator publishes it: an `fsir.SubspaceMessage`. `fsir.load` reads
        both from a file.

    Attributes
    ----------
    feature_names_in_ : array of str
        The features that the directions combine.
    n_features_in_ : int
        How many there are.
    classes_ : array of str
        The classes, sorted, as the columns of `predict_proba`; none for a numeric response.

    Raises
    ------
    MessageError
        If task and message do not belong together.

    Examples
    --------
    >>> import numpy as np
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 4, "norm": 4},
    ...     "privacy": {"epsilon": 8},
    ...     "report": {"records": 5000},
    ... })
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2))
    >>> moments = fsir.Moments(task, fsir.first_stage(task))
    >>> moments.learn_many(X, np.where(X[:, 1] + 0.3 * rng.normal(size=5000) > 0, "yes", "no"))
    >>> totals = fsir.Totals(moments.stage)
    >>> totals.add(fsir.release(moments, fsir.SeededNoise(1)))
    >>> subspace = fsir.Subspace(task, fsir.estimate_subspace(task, totals))
    >>> subspace
    <Subspace 'example': 2 features -> 1 direction, 2 classes, 1 device>
    >>> print(*subspace.predict([[0.0, 1.0], [0.0, -1.0]]))
    yes no
    >>> print(*subspace.get_feature_names_out())
    direction_1
    """

    def __init__(self, task: Task, message: Message) -> None:
        self.task = task
        self.message = message
        _projector(task, message)  # now, and not with the first record: do they belong together?

    # --- what it is -------------------------------------------------------------------------------

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The features, in the order of the columns of an array."""
        return np.array(self.message.features, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return len(self.message.features)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted."""
        if self.message.classifier is None:
            raise AttributeError("a numeric response has no classes")
        return np.array(sorted(self.message.classifier.classes))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of what `transform` returns: direction_1, direction_2 and so on."""
        if input_features is not None and list(input_features) != list(self.message.features):
            raise InputError("input_features is not equal to feature_names_in_; leave it out")
        names = [f"direction_{k + 1}" for k in range(self.message.dimension)]
        return np.array(names, dtype=object)

    def loadings(self) -> Any:
        """The directions as a DataFrame, features x directions, for standardised records."""
        pandas = door.library("pandas", "pandas")
        return pandas.DataFrame(
            self.message.basis, index=self.feature_names_in_, columns=self.get_feature_names_out()
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        parts = [f"{self.n_features_in_} features -> {_count(self.message.dimension, 'direction')}"]
        if self.message.classifier is not None:
            parts.append(f"{len(self.message.classifier.classes)} classes")
        parts.append(_count(self.message.devices, "device"))
        return f"<Subspace {self.task.name!r}: {', '.join(parts)}>"

    # --- what it does -----------------------------------------------------------------------------

    def fit(self, X: Any = None, y: Any = None) -> Subspace:
        """Nothing: what was loaded stays as it is, in a pipeline and in cross-validation too."""
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The same as `transform`."""
        return self.transform(X)

    def transform(self, X: Any) -> Any:
        """Records on the directions: one row each, one column for each direction."""
        return self._projector.project(rows_of(X, self.message.features))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each record, also where a device would show a `doubt`."""
        classes = np.array(self._classifier.classes)
        return np.asarray(classes[self._chances(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> Matrix:
        """How probable each class is: one row for each record, columns as `classes_`."""
        classes = self._classifier.classes
        order = [classes.index(label) for label in self.classes_.tolist()]
        return self._chances(X)[:, order]

    def doubt(self, X: Any) -> NDArray[Any]:
        """Why nobody should rely on the class of a record, as text; None where there is no reason.

        Where there is one, a device shows it in place of the class.
        """
        said = [self._projector.doubt(label) for label in self.predict(X).tolist()]
        return np.array(said, dtype=object)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of records whose class is named rightly; labels are texts, as for devices."""
        found = self.task.slicing.slices_of(self.predict(X))
        labels = y if isinstance(y, list) else np.asarray(y).tolist()
        truth = self.task.slicing.slices_of(labels)
        if labels and (truth == UNKNOWN).all():
            classes = ", ".join(self.classes_[:5].tolist())
            raise InputError(f"y holds {shown(labels[0])}; classes of this task are {classes}")
        return float(np.average(found == truth, weights=sample_weight))

    def _chances(self, X: Any) -> Matrix:
        return self._projector.chances(rows_of(X, self.message.features))

    @property
    def _classifier(self) -> Classifier:
        if self.message.classifier is None:
            raise InputError(
                f"{self.task.response.name!r} is a number: this subspace has directions and no "
                "classes; use transform, and a regression on what it returns"
            )
        return self.message.classifier

    # --- where it goes ----------------------------------------------------------------------------

    def to_json(self) -> str:
        """Everything, for use elsewhere: docs/using.md has the fields and the formula."""
        return export.to_json(self.task, self.message)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file whose name ends in .json or .npz; `fsir.load` reads it."""
        to = Path(path)
        if to.suffix not in (".json", ".npz"):
            raise InputError(f"{to}: a name that ends in .json or .npz says which format")
        if to.suffix == ".npz":
            to.write_bytes(export.to_npz(self.task, self.message))
        else:
            to.write_text(self.to_json() + "\n", encoding="utf-8")

    def plot(self, X: Any = None, y: Any = None) -> Any:
        """A picture, a Figure of matplotlib: `fsir.fitted.plot` says what it shows.

        With records their scatter on the first two directions, coloured by `y`, or where that is
        not given by the predicted class. Without, the loadings of each direction, the largest
        twenty, with their uncertainty.
        """
        if X is None:
            return plot.loadings(self.task, self.message)
        Z = self._projector.project(rows_of(X, self.message.features))
        if y is not None or self.message.classifier is None:
            return plot.scatter(self.task, Z, y)
        return plot.scatter(self.task, Z, self.predict(X), predicted=True)

    # --- copies -----------------------------------------------------------------------------------

    @property
    def _projector(self) -> Projector:
        return _projector(self.task, self.message)

    def __sklearn_clone__(self) -> Subspace:
        return copy.copy(self)


# Not an attribute: an estimator has nothing but what it was given, and no copy carries this along.
@lru_cache(maxsize=16)
def _projector(task: Task, message: Message) -> Projector:
    return Projector(task, message)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
