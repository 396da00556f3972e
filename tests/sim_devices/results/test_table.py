"""A table of figures, for a terminal and for a page."""

from __future__ import annotations

from sim_devices.results.table import Row, Table, lines, page

TABLE = Table(
    "How does it change?",
    ("epsilon", "right", ""),
    [Row(("0.5", "8.2%", "<simulated>")), Row(("1", "90.8%", ""), marked=True, first=True)],
)


def test_numbers_end_below_each_other():
    text = lines(TABLE)
    assert text == [
        "   epsilon  right",
        "       0.5   8.2%  <simulated>",
        "=>       1  90.8%",
    ]


def test_the_row_that_it_is_about_is_marked_on_the_page():
    text = page(TABLE)
    assert '<tr class="mine first"><td>1</td><td>90.8%</td><td></td></tr>' in text
    assert text.count("<tr") == 3
    assert "&lt;simulated&gt;" in text
