"""FSIR for River users: a supervised transformer that composes with scalers, classifiers and metrics."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from edge_agent.errors import StateError
from edge_agent.records import Position, Record
from edge_agent.river.local import LocalSubspace

if TYPE_CHECKING:
    import pandas as pd

    from edge_agent.member import Member

# Steps that look at one record at a time and remember nothing: what they pass on is still raw.
_STATELESS = ("Select", "SelectType", "Discard", "Prefixer", "Suffixer", "Renamer")
_FRAMES = 12


class FSIR(base.SupervisedTransformer, base.MiniBatchSupervisedTransformer):
    """Sliced inverse regression: projects records on the few directions that carry the information about the target.

    Alone it learns the directions from its own stream. With a `member` it takes part in a federation: records go to the
    device's agent, which reports once with noise, and the directions are those that the aggregator sends back.

    A federated FSIR takes raw features only. A scaler that learns, upstream in the pipeline, would mix each record into
    all later ones, and the privacy proof would not hold: such a pipeline is refused.

    Parameters
    ----------
    n_components
        Number of directions; fewer if there are too few features or classes.
    warm_up
        Records after which features, scales and slices are fixed. Until then the output is empty.
    slices
        Intervals into which a numeric target is cut.
    member
        The device's part in a federation, an `edge_agent.member.Member`.

    Examples
    --------
    Forty sensors, one hidden factor that drives them all, and a target that depends on the small differences:

    >>> import random
    >>> from river import linear_model, metrics
    >>> def stream(n, seed=1):
    ...     rng = random.Random(seed)
    ...     for _ in range(n):
    ...         common = rng.gauss(0, 5)
    ...         x = {f"s{j}": common + rng.gauss(0, 1) for j in range(40)}
    ...         yield x, x["s0"] - x["s1"] + rng.gauss(0, 0.5) > 0
    >>> def accuracy(model):
    ...     metric = metrics.Accuracy()
    ...     for x, y in stream(2000):
    ...         metric.update(y, model.predict_one(x))
    ...         model.learn_one(x, y)
    ...     return metric.get()
    >>> alone = accuracy(linear_model.LogisticRegression())
    >>> with_fsir = accuracy(FSIR(n_components=1) | linear_model.LogisticRegression())
    >>> alone < 0.7 < 0.8 < with_fsir
    True

    References
    ----------
    Li, K.-C. (1991). Sliced inverse regression for dimension reduction. JASA 86, 316-327.
    """

    def __init__(
        self,
        n_components: int = 2,
        warm_up: int = 100,
        slices: int = 8,
        member: Member | None = None,
    ) -> None:
        for name, value, low in (
            ("n_components", n_components, 1),
            ("warm_up", warm_up, 2),
            ("slices", slices, 2),
        ):
            if value < low:
                raise ValueError(f"{name} = {value!r}: must be at least {low}")
        self.n_components, self.warm_up, self.slices, self.member = (
            n_components,
            warm_up,
            slices,
            member,
        )
        self._local = LocalSubspace(n_components, warm_up, slices)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"warm_up": 20}

    # --- one record -----------------------------------------------------------------------------------------------

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:  # type: ignore[override]
        """Learn from one record."""
        if self.member is None:
            self._local.learn([(x, y)])
        else:
            self._refuse_learned_features()
            self.member.learn({str(key): value for key, value in x.items()}, y)

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """Coordinates of one record; empty while no directions are known."""
        if self.member is not None:
            self.member.step()
            served = self.member.agent.serve(
                Record(Position(0), {str(key): value for key, value in x.items()})
            )
            return {} if served is None else _named(served["z"])
        if (z := self._project([x])) is None:
            return {}
        return _named(z[0].tolist())

    def _project(
        self, records: list[Mapping[Hashable, Any]]
    ) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        if not self._local.ready or not records:
            return None
        return self._local.project(np.array([self._local.row(x) for x in records]))

    # --- mini-batches ---------------------------------------------------------------------------------------------

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from a mini-batch; the same as `learn_one` on each of its rows."""
        if self.member is None:
            self._local.learn(list(zip(X.to_dict("records"), y.tolist(), strict=True)))
        else:
            self._refuse_learned_features()
            for x, target in zip(X.to_dict("records"), y.tolist(), strict=True):
                self.member.learn({str(key): value for key, value in x.items()}, target)

    def transform_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Coordinates of a mini-batch."""
        import pandas as pd

        return pd.DataFrame([self.transform_one(x) for x in X.to_dict("records")], index=X.index)

    # --- the proof needs raw features -----------------------------------------------------------------------------

    def _refuse_learned_features(self) -> None:
        """Refuse to learn inside a pipeline in which something upstream learns."""
        compose = sys.modules.get("river.compose")
        if compose is None:
            return
        frame = sys._getframe(2)
        for _ in range(_FRAMES):
            caller = frame.f_locals.get("self")
            if caller is not None and type(caller) is compose.Pipeline:
                for step in caller.steps.values():
                    if _contains(step, self):
                        break
                    if type(step).__name__ not in _STATELESS or not type(
                        step
                    ).__module__.startswith("river.compose"):
                        raise StateError(
                            f"{type(step).__name__} stands before FSIR in the pipeline, and may mix one record into "
                            "others. With a federation behind it FSIR takes raw features only: put scales into the task"
                        )
            if frame.f_back is None:
                return
            frame = frame.f_back


def _contains(step: Any, wanted: Any) -> bool:
    inner = getattr(step, "steps", None) or getattr(step, "transformers", None) or {}
    return step is wanted or any(_contains(each, wanted) for each in inner.values())


def _named(z: list[float]) -> dict[Hashable, float]:
    return {f"fsir_{k}": value for k, value in enumerate(z)}
