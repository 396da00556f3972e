"""`fsir-agent features` in a pipe."""

from __future__ import annotations

import subprocess
import sys

from tests.edge_agent.commands.recordings import RANGES, write_walk


def test_half_a_table_is_enough_for_head(tmp_path):
    walk = write_walk(tmp_path)
    command = [sys.executable, "-m", "edge_agent", "features", str(walk), *RANGES]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline().startswith("tBodyAcc-mean()-X,")
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
        assert process.wait() == 0
