"""One question to the audit: a mechanism, two neighbouring data sets, a claim."""

from __future__ import annotations

import numpy as np

from sim_devices.audit.bounds import exact, montecarlo
from sim_devices.audit.bounds.laws import Gaussian, Law, same_noise
from sim_devices.audit.claim import Claim
from sim_devices.audit.finding import Bound, Finding, best
from sim_devices.audit.mechanisms import MECHANISMS, PROVEN
from sim_devices.audit.pairs import AuditError, Pair

SAMPLES = 200_000


def check(
    mechanism: str,
    pair: Pair,
    epsilon: float,
    delta: float,
    samples: int = SAMPLES,
    seed: int | None = None,
) -> Finding:
    """The sharpest bound that the audit has for the law of this mechanism on this pair.

    A seed is for repeating an answer; without it the draws are new.
    """
    if mechanism not in MECHANISMS:
        raise AuditError(f"mechanism {mechanism!r}: choose one of {', '.join(MECHANISMS)}")
    claim = Claim.about(pair, epsilon, delta)
    law = MECHANISMS[mechanism]
    bound = bound_of(law(pair.first, claim), law(pair.second, claim), epsilon, delta, samples, seed)
    return Finding(
        mechanism=mechanism,
        pair=pair.name,
        epsilon=epsilon,
        delta=delta,
        bound=bound,
        note=pair.why,
        proven=mechanism in PROVEN,
    )


def bound_of(
    first: Law, second: Law, epsilon: float, delta: float, samples: int, seed: int | None
) -> Bound:
    """Closed form, and where that is not the whole truth also Monte Carlo."""
    closed = exact.bound(first, second, epsilon, delta)
    if not isinstance(first, Gaussian) or not isinstance(second, Gaussian):
        return closed
    if same_noise(first, second) or not samples:
        return closed
    rng = np.random.default_rng(seed)
    return best(
        closed,
        montecarlo.bound(first, second, epsilon, delta, samples, rng),
    )
