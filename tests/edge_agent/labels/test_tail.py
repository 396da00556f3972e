"""The label file as a reader sees it: what is appended comes, what is broken does no harm."""

from __future__ import annotations

import stat

import pytest

from edge_agent.labels import file as label_file
from edge_agent.labels.timeline import Event
from tests.edge_agent.labels.tails import tail_of


def test_what_is_appended_is_read_by_others_at_once_and_after_a_restart(tmp_path):
    tail = tail_of(tmp_path)
    assert tail.timeline.over(10.0, 11.0) == ""
    label_file.append(tmp_path, Event(5.0, "a", 100.0))
    tail.refresh()
    label_file.append(tmp_path, Event(50.0, "ü", 100.0))
    tail.refresh()
    for each in (tail, tail_of(tmp_path)):
        assert [each.timeline.over(t, t + 1) for t in (10.0, 49.5, 60.0)] == ["a", "", "ü"]
    assert stat.S_IMODE((tmp_path / label_file.FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"time": "x", "label": "a", "until": 9}',
        b'{"time": 1, "label": 3}',
        b'{"time": NaN, "label": "a", "until": 9}',
        b'{"time": 1, "label": "' + b"x" * 300 + b'", "until": 9}',
        b'{"time": 1e999, "label": "a", "until": 9}',
        b"[" * 100_000,
    ],
)
def test_broken_lines_are_harmless(tmp_path, broken, caplog):
    (tmp_path / label_file.FILE).write_bytes(broken)  # torn: without an end of line
    label_file.append(tmp_path, Event(5.0, "a", 100.0))
    assert tail_of(tmp_path).timeline.over(10.0, 11.0) == "a"
    assert "1 broken lines skipped" in caplog.text


def test_half_a_line_waits_for_its_end(tmp_path):
    whole = Event(5.0, "a", 100.0).encode()
    path = tmp_path / label_file.FILE
    path.write_bytes(whole[:10])
    tail = tail_of(tmp_path)
    assert tail.timeline.over(10.0, 10.0) == ""
    path.write_bytes(whole)
    tail.refresh()
    assert tail.timeline.over(10.0, 10.0) == "a"


def test_a_file_that_cannot_be_read_is_said_once(tmp_path, caplog):
    (tmp_path / label_file.FILE).mkdir()
    tail = tail_of(tmp_path)
    tail.refresh()
    assert caplog.text.count("labels cannot be read") == 1
