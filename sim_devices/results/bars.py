"""Scores as a bar chart that fits a phone: plain HTML, one line of text above each bar."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

STYLE = (
    ".bars{list-style:none;margin:0;padding:0;max-width:44rem}"
    ".bars li{margin:.55rem 0}"
    ".bars p{display:flex;justify-content:space-between;gap:1rem;margin:0;line-height:1.3}"
    ".bars p span:last-child{font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".bars div{height:.7rem;border-radius:.2rem;background:var(--public);min-width:1px}"
    ".bars .private div{background:var(--device)}"
    ".bars .open div{background:var(--open)}"
    ".bars .federation div{background:var(--mine);height:1.1rem}"
    ".bars .federation p{font-weight:700}"
    ".scale{display:flex;justify-content:space-between;max-width:44rem;margin:.3rem 0 0;"
    "border-top:1px solid var(--line);color:var(--faint);font-size:.8rem}"
    ".key span{white-space:nowrap;margin-right:1rem}"
)
_KEY = {
    "public": "what is public",
    "private": "one device",
    "federation": "this federation",
    "open": "without privacy",
}
_COLOURS = {"public": "public", "private": "device", "federation": "mine", "open": "open"}


@dataclass(frozen=True)
class Bar:
    """One score; the kind is public, private, federation or open."""

    name: str
    share: float
    kind: str


def chart(bars: Sequence[Bar]) -> str:
    """The bars over a scale from 0 to 100%."""
    rows = "".join(_row(bar) for bar in bars)
    ticks = "".join(f"<span>{tick}%</span>" for tick in range(0, 101, 25))
    kinds = [kind for kind in _KEY if any(bar.kind == kind for bar in bars)]
    key = "".join(
        f'<span><i style="background:var(--{_COLOURS[kind]})"></i>{_KEY[kind]}</span>'
        for kind in kinds
    )
    return f'<p class="key">{key}</p><ul class="bars">{rows}</ul><p class="scale">{ticks}</p>'


def _row(bar: Bar) -> str:
    width = 100 * min(max(bar.share, 0.0), 1.0)
    name = html.escape(bar.name)
    text = f"<p><span>{name}</span><span>{100 * bar.share:.1f}%</span></p>"
    return f'<li class="{bar.kind}">{text}<div style="width:{width:.1f}%"></div></li>'
