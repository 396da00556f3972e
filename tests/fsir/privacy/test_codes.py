"""Response codes are no longer than 1 and average to nothing."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.privacy.codes import CODE_UNIT
from fsir.privacy.plan import first_stage
from tests.fsir.tasks import task


@pytest.mark.parametrize("H", [2, 3, 5, 8, 256])
@pytest.mark.parametrize("kind", ["circle", "simplex"])
def test_response_codes_are_no_longer_than_one_and_average_to_nothing(kind, H):
    response = {"classes": None, "cuts": list(range(H - 1))}
    if kind == "simplex":
        response = {"classes": [str(h) for h in range(H)]}
    coded = task(
        4, response=response, screening={"keep": 1, "limit": 2, "final_norm": 1.0, "code": kind}
    )
    stage = first_stage(coded)
    assert stage.columns == (2 if kind == "circle" else H - 1)
    assert stage.counts.size == 0
    lengths = [sum(v * v for v in row) for row in stage.code]
    assert max(lengths) <= CODE_UNIT**2
    assert min(lengths) > (0.95 * CODE_UNIT) ** 2 or H > 100
    assert np.abs(np.mean(stage.code, axis=0)).max() <= 1.0  # of 1024
