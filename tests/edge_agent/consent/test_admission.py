"""What the budget needs to know of a source."""

from __future__ import annotations

import pytest

from edge_agent.consent.admission import Feed
from edge_agent.errors import SourceError


class Plugin:
    """A source of another package, as far as the budget looks at it."""

    name = "plugin:heart"
    stream = "plugin:heart#1"
    replayable = False


class Overlapping(Plugin):
    unit_records = 3


def test_a_source_says_how_many_records_one_reading_can_touch():
    feed = Feed.of(Overlapping())
    assert feed == Feed("plugin:heart", replayable=False, stream="plugin:heart#1", unit_records=3)
    assert feed.identity == "plugin:heart#1"


def test_a_source_that_does_not_say_so_is_refused_with_the_remedy():
    with pytest.raises(SourceError, match=r"source plugin:heart: .* must have unit_records"):
        Feed.of(Plugin())
