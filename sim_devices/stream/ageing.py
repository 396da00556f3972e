"""How an invented person changes: winter, new shoes, a new phone.

Nothing of it was fitted to recordings: nobody has published the gait of the same people through a
year. Sizes are a fraction of how much people differ from each other (`synthetic_motion`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sim_devices.datasets.synthetic_motion import Person, Rng, draw_person

DAYS_A_YEAR = 365.0
_WINTER_VIGOUR = -0.35  # logarithms, in the middle of winter: coats, short steps, slippery ground
_WINTER_CADENCE = -0.10
_WINTER_LEAN = 0.12  # radians more when sitting
_SHOES_IMPACT = 0.15  # standard deviations of logarithms
_SHOES_EVERY_DAYS = 150.0
_PHONE_EVERY_DAYS = 400.0


@dataclass(frozen=True)
class Life:
    """A person, and the days on which something of theirs becomes another one."""

    person: Person
    shoes: tuple[tuple[float, float], ...]  # the day, and the factor of the impact from then on
    phones: tuple[tuple[float, Person], ...]  # the day, and whose wear and sensor it is then

    def on(self, day: float) -> Person:
        """The person on this day; day 0 is in the middle of summer."""
        winter = 0.5 - 0.5 * np.cos(2.0 * np.pi * day / DAYS_A_YEAR)
        now = replace(
            self.person,
            vigour=self.person.vigour * np.exp(_WINTER_VIGOUR * winter),
            cadence=float(self.person.cadence * np.exp(_WINTER_CADENCE * winter)),
            sitting=float(self.person.sitting + _WINTER_LEAN * winter),
        )
        for since, factor in self.shoes:
            if day >= since:
                now = replace(now, impact=float(np.clip(self.person.impact * factor, 0.2, 0.85)))
        for since, other in self.phones:
            if day >= since:
                now = replace(now, worn=other.worn, noise=other.noise, bias=other.bias)
        return now


def draw_life(rng: Rng, days: float) -> Life:
    """A person and all that will change in so many days."""
    person = draw_person(rng)
    shoes = _days(rng, _SHOES_EVERY_DAYS, days)
    phones = _days(rng, _PHONE_EVERY_DAYS, days)
    factors = np.exp(rng.normal(0.0, _SHOES_IMPACT, len(shoes))).tolist()
    return Life(
        person,
        tuple(zip(shoes, factors, strict=True)),
        tuple((day, draw_person(rng)) for day in phones),
    )


def _days(rng: Rng, every: float, until: float) -> list[float]:
    """Days of something that happens every so many days on average."""
    return sorted(rng.uniform(0.0, until, rng.poisson(until / every)).tolist())
