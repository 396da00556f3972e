"""What was ever given away, and what is left: the ledger, and a picture of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edge_agent.account.words import cap_of
from edge_agent.consent.policy import Policy
from edge_agent.page.look import Look, Release
from edge_agent.page.parts.common import clock, colour, number
from edge_agent.state.rows import LedgerRow
from fsir.net.web.markup import Markup, joined, tag

_LENGTH = 1000.0  # of the bar, which is stretched to the width of the page
_HEIGHT = 40.0
_GAP = 3.0
_UNPROVEN = "unproven"  # the style of what has no bound


def ledger(look: Look, policy: Policy, named: bool) -> list[Markup]:
    """Everything that was ever given away, and what is left."""
    bounded = look.epsilon < math.inf
    total = f"{look.epsilon:.3g}" if bounded else "without bound"
    left = f"{max(0.0, policy.epsilon - look.epsilon):.3g} is left; " if bounded else ""
    words = (
        f"Epsilon {total} is spent, at delta {policy.delta:g}; {left}{cap_of(policy, named)}. "
        "The smaller epsilon is, the less anybody can learn about a single record."
    )
    rows = [_release(k, release) for k, release in enumerate(look.releases)]
    return [
        _picture(look, policy.epsilon),
        tag("p", tag("span", "0"), tag("span", _end(look, policy.epsilon)), class_="scale"),
        tag("p", words),
        tag("ol", *rows, class_="releases") if rows else tag("p", "No report was made yet."),
    ]


def _end(look: Look, cap: float) -> str:
    """What stands at the right end of the bar."""
    if look.epsilon == math.inf:
        return "no bound"
    return f"spent: {look.epsilon:.3g}" if look.epsilon > cap else f"cap: {cap:g}"


def _release(k: int, release: Release) -> Markup:
    row = release.row
    proven = release.raised < math.inf
    cost = f"epsilon {release.raised:.3g} more" if proven else "without proof"
    return tag(
        "li",
        tag("i", class_=colour(k) if proven else _UNPROVEN),
        tag("b", row.task),
        _title(row),
        clock(row.made),
        f": {row.n} records, {cost}; {row.verdict or 'sent, no receipt yet'}",
        f" ({row.reason})" if row.reason else None,
    )


def _title(row: LedgerRow) -> str:
    if not row.is_report:
        return ", a look before the report, "
    return f", {row.title} of " if row.round == 1 else f", {row.title}, "


def _picture(look: Look, cap: float) -> Markup:
    """What each report took of the cap, and what is left."""
    if look.epsilon == math.inf:
        words = "There is no bound: an unproven mechanism was used."
        return _bar(words, [_piece(0.0, _LENGTH, _UNPROVEN)])
    scale = _LENGTH / max(cap, look.epsilon)
    pieces = []
    at = 0.0
    for k, release in enumerate(look.releases):
        pieces.append(_piece(at, release.raised * scale, colour(k)))
        at += release.raised * scale
    limit = number(cap * scale)
    pieces.append(tag("line", x1=limit, x2=limit, y1=0, y2=number(_HEIGHT), class_="cap"))
    count = sum(release.row.is_report for release in look.releases)
    words = f"Epsilon {look.epsilon:.3g} of {cap:g} is spent, in {count} reports"
    return _bar(f"{words}; {max(0.0, cap - look.epsilon):.3g} is left.", pieces)


def _bar(words: str, pieces: Sequence[Markup]) -> Markup:
    return tag(
        "svg",
        joined(pieces),
        class_="budget",
        viewBox=f"0 0 {_LENGTH:g} {_HEIGHT:g}",
        preserveAspectRatio="none",
        role="img",
        aria_label=words,
    )


def _piece(x: float, width: float, style: str) -> Markup:
    """A piece of the bar, apart from the next one, and never too small to be seen."""
    inner = number(max(_GAP, width - _GAP))
    return tag("rect", x=number(x), y=0, width=inner, height=number(_HEIGHT), class_=style)
