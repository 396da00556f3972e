"""The code in docs/river.md runs, and prints about what the page says."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("river", reason="NOT TESTED: the extra [river] is not installed")

from tests.pages import DOCS, blocks

POINT = 0.01  # machines differ in last bits, and a record in a thousand may tip over


@pytest.mark.long
@pytest.mark.filterwarnings("default")  # of River's own data sets
def test_the_page_is_better_with_fsir_than_without(capsys):
    names: dict = {}
    for block in blocks("river.md", "python"):
        exec(compile(block, "docs/river.md", "exec"), names)
    assert names["with_fsir"] > names["without"] + 0.08
    assert names["with_fsir"] > names["with_both"]
    text = (DOCS / "river.md").read_text(encoding="utf-8")
    said = re.findall(r"^    (0\.\d.*)$", text, re.MULTILINE)
    for line, printed in zip(said, capsys.readouterr().out.splitlines(), strict=True):
        assert numbers(printed) == pytest.approx(numbers(line), abs=POINT)


def numbers(line: str) -> list[float]:
    return [float(number) for number in re.findall(r"0\.\d+", line)]


def test_bold_is_the_best_of_a_row():
    text = (DOCS / "river.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| [^|]+ \| (?:linear|naive Bayes|neighbours) \| (.+) \|$", text, re.MULTILINE
    )
    assert len(rows) == 27
    for row in rows:
        cells = row.split(" | ")
        values = [float(cell.strip("*")) for cell in cells]
        marked = [value for cell, value in zip(cells, values, strict=True) if "*" in cell]
        assert marked
        assert min(marked) == max(values)
