"""What an audit found, and the exact binomial bound under every Monte Carlo figure."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

from scipy.stats import beta

# Of a false alarm: of a bound, of all tests of fit together, of all votes together. A whole suite
# has fewer than a hundred of these, and so less than one in a million.
RISK = 1e-8
CONFIDENCE = 1.0 - RISK


def at_least(hits: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """Clopper and Pearson's lower bound on a probability."""
    return 0.0 if hits == 0 else float(beta.ppf(1.0 - confidence, hits, trials - hits + 1))


def at_most(hits: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """Clopper and Pearson's upper bound on a probability."""
    return 1.0 if hits == trials else float(beta.ppf(confidence, hits + 1, trials - hits))


@dataclass(frozen=True)
class Bound:
    """A lower bound on the true epsilon at the claimed delta,
    and on the true delta at the claimed epsilon."""

    epsilon: float
    delta: float
    confidence: float  # 1 where it is exact
    method: str


def best(*bounds: Bound) -> Bound:
    """The sharpest of several bounds."""
    return max(bounds, key=lambda bound: bound.epsilon)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A claim, and what the audit has against it."""

    mechanism: str
    pair: str
    epsilon: float
    delta: float
    bound: Bound
    note: str = ""
    faults: tuple[str, ...] = ()  # in what an agent has published, or in its books
    proven: bool = True

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted, or the agent is not the one that the proof is about."""
        return self.bound.epsilon > self.epsilon or bool(self.faults)

    @property
    def verdict(self) -> str:
        """`violated`; `not proven`: nothing was found, and there is no proof;
        `consistent`: there is a proof, and nothing was found against it."""
        if self.violated:
            return "violated"
        return "consistent" if self.proven else "not proven"

    def table(self) -> dict[str, Any]:
        """For programs. JSON has no infinity: the largest float stands for it."""
        largest = sys.float_info.max
        return {
            "mechanism": self.mechanism,
            "pair": self.pair,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "verdict": self.verdict,
            "epsilon_lower_bound": min(self.bound.epsilon, largest),
            "delta_lower_bound": self.bound.delta,
            "confidence": self.bound.confidence,
            "method": self.bound.method,
            "note": self.note,
            "faults": list(self.faults),
        }

    def line(self) -> str:
        """For people."""
        epsilon = "infinite" if math.isinf(self.bound.epsilon) else f"{self.bound.epsilon:.4g}"
        sure = f"{100 * self.bound.confidence:.10g}% confidence"
        how = "exact" if self.bound.confidence == 1.0 else sure
        claim = f"epsilon {self.epsilon:g} at delta {self.delta:.3g}"
        note = f". {self.note}" if self.note else ""
        faults = "".join(f"\n    {fault}" for fault in self.faults)
        return (
            f"{self.verdict.upper()}: {self.mechanism} on {self.pair} claims {claim}; "
            f"it is at least {epsilon} ({how}, {self.bound.method}){note}{faults}"
        )
