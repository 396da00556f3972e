"""`fsir-aggregator subspace`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from fsir.fitted.load import load
from tests.aggregator.commands.lines import fails, run


def test_subspace_in_three_formats(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    asked = ["subspace", "--store", store, "--task", "test"]
    for kind in ("json", "csv", "npz"):
        run(capsys, *asked, "--format", kind, "--output", str(tmp_path / kind))
    plain = json.loads((tmp_path / "json").read_text())
    table = list(csv.reader(io.StringIO((tmp_path / "csv").read_text())))
    arrays = np.load(tmp_path / "npz")
    basis = np.array(plain["basis"])
    assert table[0][:4] == ["feature", "centre", "scale", "direction_1"]
    assert [row[0] for row in table[1:]] == plain["features"] == arrays["features"].tolist()
    directions = np.array([[float(value) for value in row[3:]] for row in table[1:]])
    assert np.array_equal(basis, directions)  # to the last bit
    assert np.array_equal(basis, arrays["basis"])
    assert plain["classes"] == ["c0", "c1", "c2"]
    assert arrays["weights"].shape == (3, basis.shape[1])
    for kind in ("json", "npz"):
        assert load(tmp_path / kind).to_json() == load(store, task="test").to_json()


def test_errors_name_the_value_and_the_remedy(
    capsys: pytest.CaptureFixture[str], store: str
) -> None:
    asked = ["subspace", "--store", store]
    said = fails(capsys, *asked)
    assert "holds 2 tasks: test, screened; say which one, for example: " in said
    assert said.rstrip().endswith(f"fsir-aggregator subspace --store {store} --task test")
    assert "'other': the store" in fails(capsys, *asked, "--task", "other")
    assert "there is no subspace yet" in fails(capsys, *asked, "--task", "screened")
