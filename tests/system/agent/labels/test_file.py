"""The label file on a disk that is nearly full."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from edge_agent.labels import file as label_file
from edge_agent.labels.timeline import Event
from tests.edge_agent.labels.tails import tail_of

# Room for so many bytes in a file, as on a disk that is nearly full; tells what `append` says and
# what is there after.
LITTLE_ROOM = """
import resource, sys
from pathlib import Path
from edge_agent.labels import file as label_file
from edge_agent.errors import StorageError
from edge_agent.labels.timeline import Event
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    label_file.append(Path(sys.argv[1]), Event(50000.0, "sitting", 60000.0))
except StorageError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize("events", [10, 5000])  # appended to, and replaced by its newest half
def test_a_disk_without_room_keeps_what_it_has(tmp_path, events):
    path = tmp_path / label_file.FILE
    path.write_bytes(
        b"".join(Event(1000.0 + k, "walking", 2000.0 + k).encode() for k in range(events))
    )
    before = path.read_bytes()
    assert (len(before) > label_file.LARGEST_BYTES) == (events > 10)
    room = len(before) + 20 if events == 10 else 60_000
    for limit, kept in ((room, False), (10**7, True)):
        done = subprocess.run(
            [sys.executable, "-c", LITTLE_ROOM, str(tmp_path), str(limit)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode == 0) == kept, done.stderr
        assert kept or "File too large; the label was not kept" in done.stderr
        assert kept or path.read_bytes() == before
        assert (tail_of(tmp_path).timeline.over(50000.0, 50001.0) == "sitting") == kept
        assert sorted(os.listdir(tmp_path)) == [label_file.FILE]
