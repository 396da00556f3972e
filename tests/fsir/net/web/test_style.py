"""What the pages of the programs have in common is written once, and each has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsir.net.web import style
from fsir.net.web.style import style_sheet

ROOT = Path(__file__).resolve().parents[4]
OWN = [ROOT / package / "page" / "static" / "page.css" for package in ("aggregator", "edge_agent")]
BASE = Path(style.__file__).with_name("static") / "base.css"


def rules(text: str) -> set[str]:
    """The innermost blocks, each as one line."""
    plain = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return {" ".join(rule.split()) for rule in re.findall(r"[^{};]+\{[^{}]*\}", plain)}


@pytest.mark.parametrize("own", OWN, ids=str)
def test_a_page_has_the_common_rules_and_then_its_own(own: Path) -> None:
    assert style_sheet(own).startswith(BASE.read_text())
    assert style_sheet(own).endswith(own.read_text())


def test_no_rule_stands_twice() -> None:
    first, second = (rules(path.read_text()) for path in OWN)
    base = rules(BASE.read_text())
    assert base & (first | second) == set()
    assert first & second == set()


@pytest.mark.parametrize("own", OWN, ids=str)
def test_every_colour_that_is_used_is_there_by_day_and_by_night(own: Path) -> None:
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", style_sheet(own))) - {"--own"}
    day, night = re.findall(r":root \{(.*?)\}", BASE.read_text(), flags=re.DOTALL)
    for mode in (day, night):
        assert used <= set(re.findall(r"(--[a-z0-9-]+):", mode))
