"""How many hostile messages each side gets."""

from __future__ import annotations

import pytest


@pytest.fixture(params=[10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def count(request: pytest.FixtureRequest) -> int:
    """On each side."""
    return int(request.param)
