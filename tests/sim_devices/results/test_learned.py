"""The directions on the page of a finished run, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fsir.wire.messages import Subspace
from sim_devices.results import learned
from tests.fsir.proposed import clouds_task

pytestmark = pytest.mark.long
STYLE = "body{font:16px/1.5 sans-serif;overflow-wrap:anywhere}svg{width:100%}"

# How many lines of text each element has.
LINES = """what => [...document.querySelectorAll(what)].map(one => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return new Set([...range.getClientRects()].map(box => box.top)).size;
})"""


def drawn() -> str:
    """Directions of features with long names, as the page of a run has them."""
    features = tuple(f"tBodyAccelerationJerkMagnitude-energy()-{j}" for j in range(20))
    subspace = Subspace(
        task=bytes(32),
        version=1,
        features=features,
        basis=np.linalg.qr(np.random.default_rng(0).normal(size=(20, 3)))[0],
        singular_values=np.ones(3),
        noise_level=0.1,
        expected_error=0.3,
        devices=1,
        records=1,
    )
    return learned.learned(clouds_task(200, 5, 3, 1.0), subspace)


@pytest.mark.parametrize("width", [390, 1200])
def test_numbers_stand_on_one_line_whatever_features_are_called(
    tmp_path: Path, tab: Any, width: int
) -> None:
    file = tmp_path / "page.html"
    file.write_text(f"<style>{STYLE}{learned.STYLE}</style><body>{drawn()}", encoding="utf-8")
    one = tab(file.as_uri(), width=width)
    for what in (".learned data", ".learned thead th"):
        assert set(one.page.evaluate(LINES, what)) == {1}
    assert one.too_wide() <= 0
