"""How often the device was right about its owner.

Every record is first predicted, then scored when its label comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

RECENT = 500  # labelled records
# Who is scored; each has one bit of a byte per record.
SAID = "said"
DEVICE = "device"
FEDERATION = "federation"
MAJORITY = "majority"
_BITS = {SAID: 1, DEVICE: 2, FEDERATION: 4, MAJORITY: 8}


@dataclass(kw_only=True)
class Scores:
    """Right answers under one version of the subspace.

    Of what was said, and of each who could have said it.
    """

    n: int = 0
    right: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    federated: bool = False  # whether the subspace carries a classifier at all
    recent: bytearray = field(default_factory=bytearray)  # one byte per record, see _BITS

    def add(self, label: str, said: str | None, device: str | None, federation: str | None) -> None:
        """Score the answers to one record.

        The majority's is the label that was commonest before it.
        """
        majority = max(self.labels, key=self.labels.__getitem__, default=None)
        answers = {SAID: said, DEVICE: device, FEDERATION: federation, MAJORITY: majority}
        hits = [who for who, answer in answers.items() if answer == label]
        self.n += 1
        self.federated |= federation is not None
        self.right.update(hits)
        self.labels[label] += 1
        self.recent.append(sum(_BITS[who] for who in hits))
        del self.recent[:-RECENT]

    def recently(self, who: str) -> int:
        """Right answers among the recent ones."""
        return int(np.count_nonzero(np.frombuffer(bytes(self.recent), np.uint8) & _BITS[who]))

    def summary(self) -> dict[str, Any]:
        """Accuracies, overall and recent; None before the first label, and of a federation that has
        no classifier.
        """

        def share(right: Mapping[str, int], of: int) -> dict[str, float | None]:
            known = {who: bool(of) and (who != FEDERATION or self.federated) for who in _BITS}
            return {who: round(right[who] / of, 4) if known[who] else None for who in _BITS}

        recent = {who: self.recently(who) for who in _BITS}
        return {
            "labelled": self.n,
            "accuracy": share(self.right, self.n),
            "recent": {
                "labelled": len(self.recent),
                "accuracy": share(recent, len(self.recent)),
            },
        }

    def table(self) -> dict[str, Any]:
        """Plain values, for the state file."""
        return {
            "n": self.n,
            "right": dict(self.right),
            "labels": dict(self.labels),
            "federated": self.federated,
            "recent": bytes(self.recent),
        }

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Scores:
        """From `table`."""
        return cls(
            n=table["n"],
            right=Counter(table["right"]),
            labels=Counter(table["labels"]),
            federated=table["federated"],
            recent=bytearray(table["recent"]),
        )
