"""The table of docs/planning.md is what its formula says, and what a task of that kind has."""

from __future__ import annotations

import math
import re

import pytest

from fsir.privacy.accounting import free_scales, mu_of
from tests.pages import DOCS

COORDINATES = 10
SHARE = 1 / 5


def table() -> dict[tuple[int, int], str]:
    """The noise as the page has it, by records and devices."""
    text = (DOCS / "planning.md").read_text()
    head, rows = re.search(r"\| records each \| (.*?) \|\n\|[-|]+\n((?:\| \d.*\n)+)", text).groups()
    devices = [int(word.split()[0]) for word in head.split("|")]
    found = {}
    for row in rows.splitlines():
        records, *cells = (cell.strip() for cell in row.strip("|").split("|"))
        found |= {(int(records), k): cell for k, cell in zip(devices, cells, strict=True)}
    return found


def test_every_cell_is_the_noise_of_a_class_mean():
    sum_sd = free_scales(1.5 * math.sqrt(COORDINATES), mu_of(1.0, 1e-6))[0]
    cells = table()
    assert len(cells) == 20
    for (n, K), cell in cells.items():
        assert cell == f"{sum_sd / (n * SHARE * math.sqrt(K)):.2f}"


@pytest.mark.parametrize(("epsilon", "said"), [(0.5, 0.124), (1, 0.237), (2, 0.448), (4, 0.838)])
def test_mu_is_what_the_page_says(epsilon, said):
    assert round(mu_of(epsilon, 1e-6), 3) == said
