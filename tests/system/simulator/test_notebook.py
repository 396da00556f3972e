"""The notebook of the documentation, run from its first cell to its last."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.pages import DOCS

NOTEBOOK = DOCS / "own_data.ipynb"
# In a process of its own: a kernel and its client warn about each other's age.
RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], 4)
NotebookClient(notebook, timeout=280, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def shown(notebook: dict) -> tuple[str, int]:
    """Everything that its cells print, and how many pictures they show."""
    outputs = [out for cell in notebook["cells"] for out in cell.get("outputs", ())]
    texts = [line for out in outputs for line in out.get("text", ())]
    data = [out.get("data", {}) for out in outputs]
    texts += [line for found in data for line in found.get("text/plain", ())]
    return "".join(texts), sum("image/png" in found for found in data)


@pytest.mark.slow
def test_it_runs_and_shows_what_it_showed(tmp_path):
    before, pictures = shown(json.loads(NOTEBOOK.read_text()))
    command = [sys.executable, "-c", RUN, str(NOTEBOOK), str(tmp_path / "run.ipynb")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=290)
    assert done.returncode == 0, done.stderr[-3000:]
    after, drawn = shown(json.loads((tmp_path / "run.ipynb").read_text()))
    assert drawn == pictures == 2
    assert "=> this federation" in after
    said = [line for line in before.splitlines() if line.startswith("epsilon")]
    assert len(said) == 5
    assert [line for line in after.splitlines() if line.startswith("epsilon")] == said


def test_it_is_kept_with_its_pictures_and_names_no_machine():
    text = NOTEBOOK.read_text()
    assert shown(json.loads(text))[1] == 2
    assert len(text) < 300_000
    assert not any(f'"/{place}/' in text for place in ("home", "root", "tmp", "work"))
