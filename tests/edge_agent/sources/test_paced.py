"""Replay at the pace of the recording, whatever a single time says."""

from __future__ import annotations

import pytest

from edge_agent.records import START
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.sources.paced import Paced, seconds_of
from tests.edge_agent.sources.files import drain, write


def test_replay_hands_records_out_when_their_time_has_come(tmp_path):
    path = write(tmp_path, "csv", [[k * 10, 0.0, "a"] for k in range(5)])
    now = [100.0]
    source = Paced(open_source(f"csv:{path}", Options()), "a", 20.0, clock=lambda: now[0])
    source.resume(START)
    assert [r.x["a"] for r in source.poll(10)] == ["0"]
    assert source.delay() == pytest.approx(0.5)
    now[0] += 1.0
    assert [r.x["a"] for r in source.poll(10)] == ["10", "20"]
    now[0] += 100.0
    assert len(drain(source)) == 2
    assert source.ended
    assert source.name == source.stream == f"csv:{path}"
    source.close()


@pytest.mark.parametrize("wrong", [0, 9_999_999_999])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_wrong_time_does_not_hold_up_what_follows(tmp_path, wrong, place):
    times = [1_700_000_000 + 10 * k for k in range(4)]
    times.insert(place, wrong)
    path = write(tmp_path, "csv", [[time, 0.0, "a"] for time in times])
    now = [100.0]
    source = Paced(open_source(f"csv:{path}", Options()), "a", 1.0, clock=lambda: now[0])
    source.resume(START)
    handed_out = []
    for _ in range(4):
        handed_out += [int(record.x["a"]) for record in source.poll(10)]
        now[0] += 10.0
    assert handed_out == times
    source.close()


def test_times():
    assert seconds_of("12.5") == 12.5
    assert seconds_of("1970-01-01T00:01:00+00:00") == 60.0
    for nonsense in ("noon", None, "nan", float("inf"), 10**400, "0001-01-01", "1\0", {"a": 1}):
        assert seconds_of(nonsense) is None
