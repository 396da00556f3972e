"""The tutorial, followed to the letter: every block of commands, one after the other."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from sim_devices.network.probe import free_port
from tests.pages import DOCS, blocks

PAGE = "tutorial.md"
PORT = "18831"  # of the page: others may use it here
ROOT = DOCS.parent
# The commands of the install, which the environment of the tests has behind it.
INSTALL = re.search(r"<!-- install -->\n```sh\n(.*?)^```$", (DOCS / PAGE).read_text(), re.M | re.S)


def follow(commands: list[str], folder: Path, path: str) -> str:
    """What a person reads who types these commands."""
    script = "\n".join(commands).replace(PORT, str(free_port()))
    environment = {**os.environ, "PATH": path, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    said = folder / "said.txt"
    with said.open("w") as file:
        process = subprocess.Popen(
            ["bash", "-ec", script],
            cwd=folder,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        status = process.wait(250)
    finally:
        with suppress(ProcessLookupError):  # what a step that failed has left running
            os.killpg(process.pid, signal.SIGTERM)
    assert status == 0, said.read_text()[-4000:]
    return said.read_text()


def check(said: str, folder: Path) -> None:
    """What the page promises."""
    verdict = "With 23 devices and 240 records each, epsilon 1 adds 8.3 points to the public sample"
    assert verdict in said
    assert "looks right" in said  # what `try` says
    assert "final: 10 devices, 2400 records" in said  # what `status` says
    assert "counted" in said  # what the ledger says
    (right,) = re.findall(r"(\d+\.\d)% right on 23 pumps that took no part", said)
    assert 78.0 < float(right) < 90.0
    for name in ("out/pumps/page.html", "out/pumps/picture.png", "pumps.json", "pumps.png"):
        assert (folder / "pumps" / name).stat().st_size > 1000


@pytest.mark.long
def test_the_tutorial_works_as_it_stands(tmp_path):
    assert INSTALL is not None
    commands = [block for block in blocks(PAGE, "sh") if block != INSTALL[1]]
    here = str(Path(sys.executable).parent)
    check(follow(commands, tmp_path, f"{here}{os.pathsep}{os.environ['PATH']}"), tmp_path)


@pytest.mark.slow
def test_and_on_a_machine_that_has_nothing_but_python(tmp_path):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    check(follow(blocks(PAGE, "sh"), clone, "/usr/local/bin:/usr/bin:/bin:/usr/sbin"), clone)


@pytest.mark.long
def test_the_call_for_a_notebook_works(tmp_path):
    _, table = blocks(PAGE, "sh")[:2]
    here = str(Path(sys.executable).parent)
    (code,) = blocks(PAGE, "python")
    said = follow([table, f"python - <<'END'\n{code}END"], tmp_path, f"{here}:{os.environ['PATH']}")
    assert "=> this federation" in said
