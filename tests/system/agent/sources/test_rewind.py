"""`fsir-agent rewind` between runs of the real program: every record of a file in one report."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fsir.wire.decode import decode
from fsir.wire.messages import Report
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import (
    DEVICE,
    command,
    end,
    ledger,
    wait_for_line,
    write_jsonl,
)
from tests.fsir.tasks import task

pytestmark = pytest.mark.broker


def rewind(directory, source):
    program = [sys.executable, "-m", "edge_agent", "rewind", "--source", source]
    return subprocess.run(
        [*program, "--state", str(directory / "state")], capture_output=True, text=True, timeout=60
    )


def test_a_mended_file_is_read_from_its_beginning_until_it_was_reported(mosquitto_url, tmp_path):
    of = task()
    path = tmp_path / "data.jsonl"
    source = f"jsonl:{path}"
    whole = write_jsonl(path, of, 100).read_text()
    path.write_text(whole[:2000].replace('"y": "b"', '"y": "B"'))  # a class that is misspelt
    arguments = command(mosquitto_url, source, tmp_path)
    with TinyAggregator(mosquitto_url, of) as server:
        process = subprocess.Popen([*arguments, "--follow"], stderr=subprocess.PIPE, text=True)
        try:
            wait_for_line(process, "first record learned")
            refused = rewind(tmp_path, source)
            assert refused.returncode == 2
            assert "another agent is using" in refused.stderr
            process.terminate()
            assert process.wait(30) == 0
        finally:
            end(process)
        path.write_text(whole)
        done = rewind(tmp_path, source)
        assert done.returncode == 0, done.stderr
        assert "dropped: what was learned for test" in done.stdout
        done = subprocess.run([*arguments, "--once"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        (report,) = server.reports(DEVICE)["final"]
    assert decode(report, Report).n == 100
    (row,) = ledger(tmp_path)
    assert (row.first, row.last) == (0, 99)
    refused = rewind(tmp_path, source)
    assert refused.returncode == 2
    assert "its records 0 to 99 are in the final report of task 'test'" in refused.stderr
