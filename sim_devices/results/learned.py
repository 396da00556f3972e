"""The directions of a result, drawn as the aggregator's live page draws them."""

from __future__ import annotations

from aggregator.overview import picture
from aggregator.page.parts.directions import directions, strengths
from fsir.net.web.markup import joined, tag
from fsir.task.task import Task
from fsir.wire.messages import Subspace

STYLE = (
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,18rem),1fr));"
    "gap:1rem}.learned table{width:100%;border-collapse:collapse;font-size:.95rem}"
    ".learned caption{text-align:left;color:var(--faint);padding-bottom:.25rem}"
    ".learned th,.learned td{padding:.2rem .5rem .2rem 0;text-align:left;font-weight:400;"
    "border-top:1px solid var(--line);overflow-wrap:normal}.learned bdi{overflow-wrap:anywhere}"
    ".learned td:nth-child(2){width:40%}.learned td:last-child{white-space:nowrap}"
    ".learned .bars{height:1.2rem;margin:0}.learned .bar{fill:var(--mine)}"
    ".learned .doubtful{fill:var(--faint)}.learned .whisker{stroke:var(--ink);stroke-width:2}"
    ".learned h3{font-size:1rem;margin:1rem 0 .25rem}.quiet{color:var(--faint);max-width:52rem}"
    ".term{font:inherit;color:inherit;padding:0;border:0;background:none;cursor:help;"
    "text-decoration:underline dotted}"
    ".tip{display:none;position:absolute;max-width:22rem;margin-top:1.5rem;padding:.5rem .7rem;"
    "border:1px solid var(--faint);border-radius:.4rem;background:var(--paper);color:var(--ink)}"
    ".term:hover+.tip,.term:focus+.tip{display:block}"
)


def learned(task: Task, subspace: Subspace) -> str:
    """Loadings, and how far directions stand out from the noise."""
    strength = {
        "singular_values": subspace.singular_values.tolist(),
        "noise_level": subspace.noise_level,
        "dimension": subspace.dimension,
    }
    entry = {"directions": picture.directions(task, subspace), "subspace": strength}
    return tag(
        "div",
        joined(directions("learned", entry)),
        tag("h3", "How far it stands out from the noise"),
        joined(strengths("learned", entry)),
        class_="learned",
    )
