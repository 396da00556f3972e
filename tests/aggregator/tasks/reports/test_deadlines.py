"""A deadline is an instant that lies ahead."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from aggregator.tasks.reports.deadlines import instant, refuse_past
from fsir.errors import FsirError


def test_a_deadline_has_a_zone_and_lies_ahead():
    assert instant("2026-12-01T02:00:00+02:00") == datetime(2026, 12, 1, tzinfo=UTC)
    for text in ("tomorrow", "2026-12-01", "2026-12-01T00:00:00"):
        with pytest.raises(FsirError, match="give date, time and zone"):
            instant(text)
    refuse_past("report.deadline", None, time.time())
    refuse_past("report.deadline", 1000, 999.0)
    with pytest.raises(FsirError, match=r"report.deadline 1970-01-01T00:16:40.*: has passed"):
        refuse_past("report.deadline", 1000, 1000.0)
