"""Our part of a sum: the shares of a cohort, and all the noise that the task asks for.

Whoever calls `own_sum` keeps what it returns in the same transaction, together with the ids; the
shares are deleted there, so that a second sum of them cannot be made.
"""

from __future__ import annotations

from collections.abc import Sequence

from aggregator.federation import Federation
from aggregator.secure.seat import Seat
from aggregator.store.base import Store
from aggregator.store.sealed import Pool
from fsir.privacy.noise import Noise
from fsir.privacy.plan import Stage
from fsir.privacy.rounds.correlated import key_for, round_noise
from fsir.secure.opening import noised_sum
from fsir.secure.ring import Residues
from fsir.wire.cohort import Heading

_AT_ONCE = 64  # shares that are expanded at a time, which bounds our memory


def own_sum(
    store: Store,
    federation: Federation,
    seat: Seat,
    heading: Heading,
    ids: Sequence[bytes],
    noise: Noise,
) -> tuple[Residues, int]:
    """The noised sum of our shares of these reports, and their records in all."""
    reader = seat.reader(federation, heading.stage)
    stage = federation.layouts[heading.stage].stage
    total = reader.ring.added([])
    records = 0
    for start in range(0, len(ids), _AT_ONCE):
        rows = list(store.payloads(federation.key, ids[start : start + _AT_ONCE]))
        records += sum(n for n, _ in rows)
        total = reader.ring.added([total, *(reader.share(payload) for _, payload in rows)])
    drawn = _noise_of(store, federation, stage, heading, noise)
    return noised_sum(stage, reader.ring, [total], drawn), records


def pool_of(heading: Heading) -> Pool:
    """Where the cohort of a heading is."""
    return Pool(heading.stage, heading.round, heading.group)


def _noise_of(
    store: Store, federation: Federation, stage: Stage, heading: Heading, noise: Noise
) -> Noise:
    """The noise of a cohort: cohorts of the same number in all rounds are one series.

    A record is in one opened sum, and so in one series; to each of them theorem 13 applies.
    """
    series = noise.for_stage(f"group {heading.group} cohort {heading.number}")
    if len(stage.factorisation.coefficients) == 1:
        return round_noise(series, stage, heading.round)
    pool = pool_of(heading)
    earlier = store.noise_key(federation.key, pool, heading.number)
    key = key_for(heading.round, earlier)
    if key != earlier:
        store.put_noise_key(federation.key, pool, heading.number, key)
    return round_noise(series, stage, heading.round, key)
