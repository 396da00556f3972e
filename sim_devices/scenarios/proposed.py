"""The sections of a task that a public sample proposes: map, centres, clip and split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsir.arrays import Integers
from fsir.proposal.constants import Expectation
from fsir.proposal.proposal import Proposal, propose
from fsir.task.public_sample import varying
from fsir.task.slicing import Slicing
from sim_devices.datasets.population import DeviceStream
from sim_devices.meanwhile import Meanwhile

Begun = Mapping[Expectation, Meanwhile[Proposal]]


@dataclass(frozen=True, eq=False)
class PublicSample:
    """A volunteer's records, from which everything in a task is proposed."""

    volunteer: DeviceStream
    response: str
    cuts: tuple[float, ...] = ()  # where the response is a number
    groups: Integers | None = None  # who each record is of, where several people volunteered
    _known: dict[Expectation, Proposal] = field(default_factory=dict)
    begun: Begun = field(default_factory=dict)  # what somebody else works out of them

    def proposal(self, classes: tuple[str, ...], expected: Expectation) -> Proposal:
        """What `fsir-aggregator task new` would propose; worked out once for each expectation."""
        if expected not in self._known:
            begun = self.begun.get(expected)
            self._known[expected] = (
                self._proposed(classes, expected) if begun is None else begun.result()
            )
        return self._known[expected]

    def _proposed(self, classes: tuple[str, ...], expected: Expectation) -> Proposal:
        slicing = Slicing(classes, () if classes else self.cuts)
        return propose(
            self.volunteer.X,
            slicing.slices_of(self.volunteer.y),
            slicing.count,
            expected,
            self.groups,
            numeric=not classes,
        )


def varying_columns(sample: DeviceStream) -> list[int]:
    """Where the features of a sample stand that vary: the others tell nothing apart."""
    return np.flatnonzero(varying(sample.X)).tolist()


def with_sections(table: dict[str, Any], sections: dict[str, Any]) -> dict[str, Any]:
    """A table of a task, with these sections merged into its own.

    >>> with_sections({"clip": {"truncate": 3.0}}, {"clip": {"norm": 2.0}})
    {'clip': {'truncate': 3.0, 'norm': 2.0}}
    """
    merged = {name: {**table.get(name, {}), **section} for name, section in sections.items()}
    return {**table, **merged}
