"""The result of a run as one self-contained HTML page: no script, no network.

It tells a person what came out, how sure that is, what it cost and what it is compared with, in
this order; on a phone as on a desk, by day and by night.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fsir.fitted.drawing import COLOURS
from sim_devices.results import bars, curve_svg, learned, scatter, table
from sim_devices.results.bars import Bar
from sim_devices.results.curves import Chart
from sim_devices.results.picture import WRONG, Panel, words
from sim_devices.results.story import Section
from sim_devices.results.table import Table

_STYLE = (
    ":root{color-scheme:light dark;--ink:#1d2226;--faint:#5c666f;--line:#c9d0d6;--grid:#edf0f2;"
    "--paper:#fff;--box:#f5f7f8;--public:#8fa3b3;--device:#b9c4cc;--open:#c9b28f;--mine:#0072b2}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6eaed;--faint:#a0abb4;--line:#48525a;"
    "--grid:#2a3137;--paper:#15191c;--box:#1e2429;--public:#71889a;--device:#4e5b65;"
    "--open:#8d7850;--mine:#56b4e9}}"
    "*{box-sizing:border-box}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:1rem;"
    "color:var(--ink);background:var(--paper);overflow-wrap:anywhere}"
    "h1{font-size:1.3rem;line-height:1.25;margin:.5rem 0}"
    "h2{font-size:1.1rem;margin:2rem 0 .5rem}"
    ".verdict{font-size:1.35rem;line-height:1.35;font-weight:650;margin:.5rem 0 1rem}"
    ".panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr));"
    "gap:1rem}"
    "figure{margin:0;padding:.6rem;border-radius:.4rem;background:var(--box)}"
    "figure.mine{outline:2px solid var(--mine)}"
    "figcaption{font-weight:600;font-size:.95rem;line-height:1.3;min-height:2.6em}"
    "svg{display:block;width:100%;height:auto;max-width:36rem;margin:auto}"
    "svg text{font-size:12px;fill:var(--faint)}"
    ".axis{stroke:var(--faint);fill:none}.grid{stroke:var(--grid);fill:none}"
    ".wrong{stroke:var(--ink);stroke-width:.8;fill:none}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem;margin:0;"
    "max-width:52rem}"
    "dt{color:var(--faint)}dd{margin:0}"
    "@media(max-width:34rem){dl{display:block}dd{margin:0 0 .5rem}}"
    "i{display:inline-block;width:.8em;height:.8em;border-radius:50%;margin-right:.35em}"
    ".legend span{display:inline-block;margin-right:1rem}"
    "ul.notes{padding-left:1.2rem;max-width:52rem}"
)


@dataclass(frozen=True, kw_only=True)
class Page:
    """What stands on it, from the top to the bottom."""

    title: str
    verdict: str
    panels: Sequence[Panel]
    response: str  # what is explained
    sections: Sequence[Section]
    bars: Sequence[Bar]
    notes: Sequence[str]
    charts: Sequence[Chart] = ()
    legend: str = ""  # how to read them
    table: Table | None = None  # of what they show
    learned: str = ""  # the directions, as HTML


def write(path: Path, page: Page) -> Path:
    """Write the page and return its path."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{_text(page.title)}</title><style>{_style(page)}</style>"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<!doctype html><html lang="en"><head>{head}</head><body>{_body(page)}</body></html>',
        encoding="utf-8",
    )
    return path


def _style(page: Page) -> str:
    more = curve_svg.STYLE + table.STYLE if page.charts else ""
    return f"{_STYLE}{bars.STYLE}{more}{learned.STYLE if page.learned else ''}"


def _body(page: Page) -> str:
    verdict = (
        f'<p class="verdict">{_text(page.verdict.replace(" -> ", " → "))}</p>'
        if page.verdict
        else ""
    )
    figures = "".join(_figure(panel, page.response) for panel in page.panels)
    sections = "".join(_section(section) for section in page.sections)
    compared = ""
    if page.bars:
        compared = f"<h2>What is it compared with?</h2>{bars.chart(page.bars)}"
    found = f"<h2>What was learned</h2>{page.learned}" if page.learned else ""
    notes = "".join(f"<li>{_text(note)}</li>" for note in page.notes)
    return (
        f'<h1>{_text(page.title)}</h1>{verdict}{_curves(page)}<div class="panels">{figures}</div>'
        f"{_legend(page.panels[0])}{sections}{compared}{found}"
        f'<h2>Read this too</h2><ul class="notes">{notes}</ul>'
    )


def _curves(page: Page) -> str:
    if page.table is None:
        return ""
    drawn = "".join(
        f"<figure><figcaption>{_text(chart.title)}</figcaption>{curve_svg.svg(chart)}</figure>"
        for chart in page.charts
    )
    question = _text(page.table.question)
    return (
        f'<h2>{question}</h2><div class="panels curves">{drawn}</div>'
        f'<p class="legend">{_text(page.legend)}</p>{table.page(page.table)}'
        "<h2>Those who took no part, projected</h2>"
    )


def _figure(panel: Panel, response: str) -> str:
    mark = ' class="mine"' if panel.marked else ""
    caption = f"<figcaption>{_text(panel.title).replace('% right', '%&nbsp;right')}</figcaption>"
    return f"<figure{mark}>{caption}{scatter.svg(panel, response)}</figure>"


def _legend(panel: Panel) -> str:
    labels = "".join(
        f'<span><i style="background:{COLOURS[h % len(COLOURS)]}"></i>{_text(words(label))}</span>'
        for h, label in enumerate(panel.classes)
    )
    wrong = "" if panel.wrong is None else f"<span>× {WRONG}</span>"
    return f'<p class="legend">{labels}{wrong}</p>' if labels else ""


def _section(section: Section) -> str:
    rows = "".join(
        f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in section.lines.items()
    )
    return f"<h2>{_text(section.question)}</h2><dl>{rows}</dl>"


def _text(value: str) -> str:
    return html.escape(value, quote=True)
