"""What rounds are worth: their noise, what is left of it in an estimate, and whether it follows.

Everything is made by the code that devices and aggregators use, in one process and from seeds. Two
rules were made after a look at UCI HAR: docs/streams.md says which.
"""

from __future__ import annotations

from benchmarks.streams.drifting import BARS as DRIFTING
from benchmarks.streams.drifting import drifting, false_notes
from benchmarks.streams.noise import BARS as NOISE
from benchmarks.streams.noise import running_totals
from benchmarks.streams.people import BARS as PEOPLE
from benchmarks.streams.people import activities
from benchmarks.streams.stationary import BARS as STATIONARY
from benchmarks.streams.stationary import losses

BARS = NOISE | STATIONARY | PEOPLE | DRIFTING


def run() -> dict[str, float]:
    """A quarter of an hour on one core."""
    return running_totals() | losses() | activities() | drifting() | false_notes()
