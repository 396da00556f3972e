"""What the device gives away: to whom, what and when; and what it holds back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edge_agent.account.tasks import Entry, remarks
from edge_agent.learning.looks import lateness
from edge_agent.learning.phase import Phase
from edge_agent.page.look import Look
from edge_agent.page.pace import Pace, duration
from edge_agent.page.parts.common import clock, form
from edge_agent.state.made import last_reports
from fsir.net.web.markup import Markup, joined, tag

_PHASES = {
    "refused": "is refused: nothing leaves for it",
    Phase.LEARNING: "collects records",
    Phase.HELD: "holds its report back until you have looked",
    Phase.SCREENED: "has given its first report, and waits to hear which features are needed",
    Phase.REPORTED: "has made its report, which waits to be counted",
    Phase.RESTING: "has the records of its next report, and waits until that may be made",
    Phase.SERVING: "is done: its report is counted, and no other leaves for it",
    Phase.STOPPED: "goes on without this device",
}


def tasks(look: Look, pace: Callable[[str], Pace], now: float) -> list[Markup]:
    """Each task: to whom, what and when."""
    if not look.entries:
        return [tag("p", "No task has been accepted: nothing is given away.")]
    return [_card(look, entry, pace(entry["task"]), now) for entry in look.entries]


def _card(look: Look, entry: Entry, pace: Pace, now: float) -> Markup:
    name = entry["task"]
    notes = remarks(entry)
    return tag(
        "article",
        tag("h3", name),
        tag("p", f"This task {_PHASES.get(entry['phase'], entry['phase'])}."),
        tag("p", entry["reason"], class_="alarm") if entry.get("reason") else None,
        _progress(entry),
        _facts(look, entry, pace, now) if name in look.tasks else None,
        tag("ul", *(tag("li", note) for note in notes), class_="remarks") if notes else None,
        _whole(name, look.words[name]) if name in look.words else None,
    )


def _whole(name: str, words: str) -> Markup:
    summary = tag("summary", "All that this task asks for", id=f"summary-{name}")
    return tag("details", summary, tag("pre", words), id=f"details-{name}")


def _progress(entry: Entry) -> Markup | None:
    if not entry.get("of"):
        return None
    words = f"{entry['records']} of {entry['of']} records"
    bar = tag("progress", value=entry["records"], max=entry["of"], aria_label=words)
    return tag("p", bar, tag("span", words), class_="progress")


def _facts(look: Look, entry: Entry, pace: Pace, now: float) -> Markup:
    broker = look.broker or "a broker that is not known here: no agent has noted it yet"
    return tag(
        "dl",
        tag("dt", "What"),
        *(tag("dd", report) for report in look.reports[entry["task"]]),
        tag("dt", "To whom"),
        tag("dd", "whoever runs task ", tag("b", entry["task"]), ", over ", tag("b", broker)),
        tag("dt", "When"),
        tag("dd", _when(look, entry, pace, now)),
    )


def _when(look: Look, entry: Entry, pace: Pace, now: float) -> Markup:
    name = entry["task"]
    told: list[object] = []
    rows = [release.row for release in look.releases]
    for row in last_reports(rows, look.tasks[name].digest).values():
        told += [f"The {row.title} was made ", clock(row.made), ". "]
    leaves = look.leaves.get(name)
    if leaves is not None and leaves > now:
        told += ["It leaves at the earliest ", clock(leaves), ". "]
    elif leaves is not None:
        told += ["It waits for its receipt. "]
    if entry["phase"] == Phase.HELD:
        told += ["The next report leaves when you let it."]
    elif late := _late(look, entry, now):
        told += [f"There is no next report: {late}."]
    elif entry.get("of"):
        told += due(entry, pace, look.tasks[name].report.deadline, now)
    return joined(told or ["Nothing was given away."])


def _late(look: Look, entry: Entry, now: float) -> str:
    """Why no report can come any more; a deadline passes although nothing is written."""
    if not entry.get("of"):
        return ""
    return lateness(look.tasks[entry["task"]], entry["records"], entry["active"] is not None, now)


def due(entry: Entry, pace: Pace, deadline: float | None, now: float) -> list[object]:
    """When the next report is due, or why that is not known."""
    if deadline is not None:
        return ["The next report is due ", clock(deadline), "."]
    watched = duration(pace.watched(now))
    left = pace.seconds_until(entry["of"], now)
    if left is not None:
        about = f"The next report is due in about {duration(left)}"
        return [f"{about}, at the pace of the last {watched}."]
    more = entry["of"] - entry["records"]
    return [
        f"The next report is due after {more} more records. When that will be is not known: ",
        f"this page has watched for {watched}, and seen too few come in.",
    ]


def held(entries: Sequence[Entry], csrf: str) -> list[Markup]:
    """Reports that the device holds back until its owner says so."""
    return [
        tag(
            "article",
            tag("h3", entry["task"]),
            tag("p", entry["held"], class_="alarm"),
            form("/release", csrf, _let_go(entry["task"])),
        )
        for entry in entries
        if entry.get("held") and not entry["released"]
    ]


def _let_go(task: str) -> Markup:
    words = "Let this report leave"
    return tag("button", words, name="task", value=task, id=f"release-{task}")
