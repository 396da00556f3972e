"""The result of a run as one self-contained HTML page:
no script, no network, a drawing that stays sharp."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fsir.arrays import Matrix
from sim_devices.results.picture import COLOURS, Panel, coordinates, thinned

_SIZE_PIXELS = 420
_MARGIN_PIXELS = 34
_MOST_POINTS = 350
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;"
    "margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse}"
    "td{padding:.2rem 1rem .2rem 0;vertical-align:top}td:first-child{color:#555}"
    "figure{display:inline-block;margin:0 1rem 1rem 0}figcaption{font-weight:600}"
    "svg{border:1px solid #ccc}"
    "i{display:inline-block;width:.8em;height:.8em;border-radius:50%;margin:0 .3em 0 1em}"
)


def write(
    path: Path, title: str, facts: Mapping[str, str], panels: Sequence[Panel], notes: Sequence[str]
) -> Path:
    """Write the page and return its path."""
    rows = "".join(
        f"<tr><td>{_text(key)}</td><td>{_text(value)}</td></tr>" for key, value in facts.items()
    )
    figures = "".join(
        f"<figure><figcaption>{_text(p.title)}</figcaption>{_svg(p)}</figure>" for p in panels
    )
    legend = "".join(
        f'<i style="background:{COLOURS[h % len(COLOURS)]}"></i>{_text(label)}'
        for h, label in enumerate(panels[0].classes)
    )
    remarks = "".join(f"<li>{_text(note)}</li>" for note in notes)
    body = (
        f"<h1>{_text(title)}</h1>{figures}<p>{legend}</p><table>{rows}</table>"
        f"<h2>Read this too</h2><ul>{remarks}</ul>"
    )
    head = f'<meta charset="utf-8"><title>{_text(title)}</title><style>{_STYLE}</style>'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>',
        encoding="utf-8",
    )
    return path


def _text(value: str) -> str:
    return html.escape(value, quote=True)


def _svg(panel: Panel) -> str:
    groups = []
    if panel.classes:
        for h, label in enumerate(panel.classes):
            rows = np.flatnonzero(panel.response == label)
            rows = rows[thinned(len(rows), _MOST_POINTS)]
            groups.append((h, label, *coordinates(panel.Z[rows], h)))
    else:
        rows = thinned(len(panel.Z), 3 * _MOST_POINTS)
        groups.append((0, "", panel.Z[rows, 0], panel.response[rows].astype(float)))
    xs = np.concatenate([g[2] for g in groups])
    ys = np.concatenate([g[3] for g in groups])
    size = f'width="{_SIZE_PIXELS}" height="{_SIZE_PIXELS}"'
    parts = [f'<svg {size} role="img" aria-label="{_text(panel.title)}">']
    for h, label, x, y in groups:
        colour = COLOURS[h % len(COLOURS)]
        parts.append(f'<g fill="{colour}" fill-opacity="0.55"><title>{_text(label)}</title>')
        points = zip(_scaled(x, xs), _SIZE_PIXELS - _scaled(y, ys), strict=True)
        parts.extend(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.6"/>' for a, b in points)
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _scaled(values: Matrix, everything: Matrix) -> Matrix:
    low = float(everything.min())
    high = float(everything.max())
    return _MARGIN_PIXELS + (values - low) / ((high - low) or 1.0) * (
        _SIZE_PIXELS - 2 * _MARGIN_PIXELS
    )
