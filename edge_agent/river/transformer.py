"""FSIR for River users: a supervised transformer that composes with classifiers and metrics."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

from river import base

from edge_agent.errors import StateError
from edge_agent.records import Position, Record
from edge_agent.river.local import LocalSubspace

if TYPE_CHECKING:
    import pandas as pd

    from edge_agent.member import Member


class FSIR(base.SupervisedTransformer, base.MiniBatchSupervisedTransformer):
    """Sliced inverse regression: the few directions of the features that tell about the target.

    Alone it learns the directions from its own stream, from the tenth record on, and turns a record
    into uncorrelated numbers of unit variance: as many as there are classes less one, or fewer. It
    helps where features go together, and where what comes next is slow or naive about that: a
    stochastic gradient, naive Bayes, neighbours. It keeps linear combinations alone; where a
    response has no linear trace, or where single features matter beside, put them beside it:
    `(FSIR() + preprocessing.StandardScaler()) | ...`. It does not forget. Figures are in
    docs/river.md.

    With a `member` it takes part in a federation: records go to the device's agent, which reports
    once with noise, and the directions are those that the aggregator sends back; until then the
    output is empty.

    A federated FSIR takes raw features only: as they were measured, or changed by a step that looks
    at one record alone and remembers nothing. A scaler or any other learner upstream would mix each
    record into later ones, and the privacy proof would not hold. Nobody can tell from the numbers:
    whoever connects a federation states it with `raw_features=True`, and without the statement
    there is no federated FSIR. Scales belong into the task.

    Parameters
    ----------
    n_components
        Number of directions; fewer if there are too few features or classes.
    warm_up
        Records after which features, their scales and the cuts of a numeric target are fixed.
        Until then they are those of all records so far. A new class may come at any time.
    slices
        Intervals into which a numeric target is cut.
    member
        The device's part in a federation, an `edge_agent.member.Member`. It needs `raw_features`.
    raw_features
        The statement that the features reach FSIR raw, see above. It means nothing without a
        member.

    Examples
    --------
    Forty sensors, one hidden factor that drives them all, and a target that depends on the small
    differences:

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
        raw_features: bool = False,
    ) -> None:
        for name, value, low in (
            ("n_components", n_components, 1),
            ("warm_up", warm_up, 2),
            ("slices", slices, 2),
        ):
            if value < low:
                raise ValueError(f"{name} = {value!r}: must be at least {low}")
        self.n_components = n_components
        self.warm_up = warm_up
        self.slices = slices
        self.member = member
        self.raw_features = raw_features
        if member is not None:
            self._require_raw_features()
        self._local = LocalSubspace(n_components, warm_up, slices)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"warm_up": 20}

    def _require_raw_features(self) -> None:
        """Nothing is learned into a federation without the statement that the features are raw."""
        if not self.raw_features:
            raise StateError(
                "FSIR with a federation behind it takes raw features only: a scaler or another "
                "learner before it may mix one record into others, and the privacy proof would not "
                "hold. Put scales into the task, and say with raw_features=True that the features "
                "reach FSIR as they were measured"
            )

    # --- one record -------------------------------------------------------------------------------

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:  # type: ignore[override]
        """Learn from one record."""
        if self.member is None:
            self._local.learn([(x, y)])
        else:
            self._require_raw_features()
            self.member.learn(_texts(x), y)

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """Coordinates of one record; empty while no directions are known."""
        if self.member is not None:
            self.member.step()
            served = self.member.agent.serve(Record(Position(0), _texts(x)))
            return {} if served is None else _named(served["z"])
        z = self._local.project([x])
        return {} if z is None else _named(z[0].tolist())

    # --- mini-batches -----------------------------------------------------------------------------

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from a mini-batch; the same as `learn_one` on each of its rows."""
        for x, target in zip(X.to_dict("records"), y.tolist(), strict=True):
            self.learn_one(x, target)

    def transform_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Coordinates of a mini-batch."""
        import pandas as pd

        return pd.DataFrame([self.transform_one(x) for x in X.to_dict("records")], index=X.index)


def _texts(x: dict[Hashable, Any]) -> dict[str, Any]:
    """A record under names that are texts: River allows any hashable as a name."""
    return {str(key): value for key, value in x.items()}


def _named(z: list[float]) -> dict[Hashable, float]:
    return {f"fsir_{k}": value for k, value in enumerate(z)}
