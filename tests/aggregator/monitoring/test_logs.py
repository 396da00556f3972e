"""What a machine reads of the log."""

from __future__ import annotations

import json
import logging
import sys

from aggregator.monitoring.logs import JsonFormatter


def test_json_logs_are_one_object_per_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        record = logging.LogRecord(
            name="fsir.test",
            level=logging.ERROR,
            pathname="file",
            lineno=1,
            msg="failed on %r",
            args=("a\nb",),
            exc_info=sys.exc_info(),
        )
    line = JsonFormatter().format(record)
    entry = json.loads(line)
    assert "\n" not in line
    assert entry["level"] == "error"
    assert entry["logger"] == "fsir.test"
    assert entry["message"] == "failed on 'a\\nb'"
    assert "ValueError: two" in entry["exception"]
    assert entry["time"].endswith("+00:00")
