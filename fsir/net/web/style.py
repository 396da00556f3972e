"""The style sheet of a page: what all pages of ours have in common, then its own."""

from __future__ import annotations

from pathlib import Path

_BASE = Path(__file__).with_name("static") / "base.css"


def style_sheet(own: Path) -> str:
    """Both, as one file: a browser asks once, and what is a page's own comes last and holds."""
    return "\n".join(file.read_text(encoding="utf-8") for file in (_BASE, own))
