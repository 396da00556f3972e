"""The code that stands in pages of the documentation, for tests that run it."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """The blocks of code in one language, in their order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [code for found, code in _BLOCK.findall(text) if found == language]
