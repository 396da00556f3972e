"""A population: one stream of records per device,
and the people who take no part and are the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix
from fsir.errors import FsirError

ACTIVITIES = ("WALKING", "WALKING_UPSTAIRS", "WALKING_DOWNSTAIRS", "SITTING", "STANDING", "LAYING")
LEVELS = ("active", "sedentary", "lying")
LEVEL_OF = dict(
    zip(ACTIVITIES, ("active", "active", "active", "sedentary", "sedentary", "lying"), strict=True)
)


class DataError(FsirError, ValueError):
    """Data that are absent or not what they should be: what was found, where, and what to do."""


@dataclass(frozen=True)
class DeviceStream:
    """The records of one device in the order in which they were recorded.

    X: one row per record, one column per feature. y: labels (str) or numbers (float64), one per
    record.
    """

    device: str
    X: Matrix
    y: NDArray[Any]

    def __post_init__(self) -> None:
        # The name becomes one level of an MQTT topic.
        if not self.device or set(self.device) & set("/+#\0") or self.device != self.device.strip():
            raise DataError(
                f"device name {self.device!r}: a name is not empty and has no '/', '+', '#' or "
                "outer space"
            )
        if self.X.ndim != 2 or self.X.dtype != np.float64:
            raise DataError(
                f"{self.device}: X has shape {self.X.shape} and type {self.X.dtype}, not n x p "
                "of float64"
            )
        if self.y.shape != self.X.shape[:1]:
            raise DataError(
                f"{self.device}: {len(self.X)} records but responses of shape {self.y.shape}"
            )
        if not np.isfinite(self.X).all():
            row, column = np.argwhere(~np.isfinite(self.X))[0]
            raise DataError(
                f"{self.device}: record {row} has {self.X[row, column]} in column {column}: drop "
                "it first"
            )
        if self.y.dtype.kind != "U" and not (
            self.y.dtype == np.float64 and np.isfinite(self.y).all()
        ):
            raise DataError(
                f"{self.device}: responses of type {self.y.dtype} must be labels (str) or finite "
                "float64"
            )

    def __len__(self) -> int:
        return len(self.X)

    def with_columns(self, columns: Sequence[int]) -> DeviceStream:
        """The same records with these features alone."""
        return replace(self, X=np.ascontiguousarray(self.X[:, list(columns)]))


@dataclass(frozen=True, kw_only=True)
class Population:
    """Devices that take part, and unseen ones on which the result is tested.

    classes is empty if the response is a number. caveats belong beside every figure obtained with
    these data.
    """

    name: str
    features: tuple[str, ...]
    classes: tuple[str, ...]
    devices: tuple[DeviceStream, ...]
    unseen: tuple[DeviceStream, ...]
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _refuse_twins(self.name, "feature", self.features)
        _refuse_twins(self.name, "class", self.classes)
        _refuse_twins(self.name, "device", tuple(stream.device for stream in self.everyone))
        if not self.devices:
            raise DataError(f"{self.name}: a population needs at least one device")
        for stream in self.everyone:
            self._check(stream)

    def _check(self, stream: DeviceStream) -> None:
        whose = f"{self.name}: {stream.device}"
        columns = stream.X.shape[1]
        if columns != len(self.features):
            raise DataError(f"{whose} has {columns} columns for {len(self.features)} features")
        if (stream.y.dtype.kind == "U") != bool(self.classes):
            numbers = "numbers, since there are no classes"
            expected = f"labels among {self.classes}" if self.classes else numbers
            raise DataError(f"{whose} has responses of type {stream.y.dtype}, not {expected}")
        if self.classes and (strange := sorted(set(stream.y.tolist()) - set(self.classes))):
            raise DataError(f"{whose} has labels {strange} that are not in {self.classes}")

    @property
    def everyone(self) -> tuple[DeviceStream, ...]:
        return self.devices + self.unseen


def with_levels(population: Population) -> Population:
    """The six activities as three levels:
    active (on the feet and moving), sedentary (sitting, standing), lying."""
    if strange := set(population.classes) - set(LEVEL_OF):
        raise DataError(
            f"{population.name}: {sorted(strange)} are not among the six activities {ACTIVITIES}"
        )

    def levels(streams: tuple[DeviceStream, ...]) -> tuple[DeviceStream, ...]:
        return tuple(
            replace(stream, y=np.array([LEVEL_OF[label] for label in stream.y]))
            for stream in streams
        )

    return replace(
        population,
        classes=LEVELS,
        devices=levels(population.devices),
        unseen=levels(population.unseen),
    )


def with_columns(population: Population, columns: Sequence[int]) -> Population:
    """The same people with these features alone."""
    return replace(
        population,
        features=tuple(population.features[j] for j in columns),
        devices=tuple(stream.with_columns(columns) for stream in population.devices),
        unseen=tuple(stream.with_columns(columns) for stream in population.unseen),
    )


def with_shuffled_responses(population: Population, rng: np.random.Generator) -> Population:
    """Every device's responses in random order, the unseen ones' untouched: whoever learns from it
    must do no better than chance, or the figures come from somewhere else than the data."""
    shuffled = tuple(replace(stream, y=rng.permutation(stream.y)) for stream in population.devices)
    caveat = "the responses of the devices were shuffled: nothing can be learned from them"
    return replace(population, devices=shuffled, caveats=(*population.caveats, caveat))


def _refuse_twins(name: str, what: str, values: tuple[str, ...]) -> None:
    if len(set(values)) != len(values):
        twin = next(value for value in values if values.count(value) > 1)
        raise DataError(
            f"{name}: the {what} {twin!r} occurs {values.count(twin)} times; names must be unique"
        )
