"""A task file with a public map, with comments for whoever edits it, from a public sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aggregator.tasks.draft import DELTA, Wishes
from aggregator.tasks.sample import Sample
from aggregator.tasks.slices import Sliced
from aggregator.tasks.toml import comment, is_long, toml
from fsir.proposal.proposal import Proposal

RECORDS = 300  # per report, if nobody says how many
_GUESSED = "a guess: set it to what every device will have"

# What each field is. Where the proposal has a reason of the same name, that comes first.
_COMMENTS = {
    "epoch": "raise it to repeat the federation with fresh records",
    "dimension": 'or the number of directions; "auto": all that tell classes apart, or of a number '
    "those that stand out of the noise",
    "aggregation": 'exact; "trimmed" bounds what lying devices can do where anybody may join '
    "(docs/poisoning.md)",
    "features.centre": "A record's x enters as (x - centre) / scale. From public knowledge only.",
    "response.name": "the column or field that holds it",
    "clip.truncate": "R: a standardised value is cut off here. Far out, for a broken sensor: the "
    "clip below does the rest.",
    "clip.norm": "C: what is left of a record after map and centre is scaled down to this length, "
    "if it is longer. All noise is proportional to it.",
    "privacy.epsilon": "of everything that a device sends for this task",
    "privacy.mechanism": "the proven one",
    "privacy.unit_records": "consecutive records that are protected together: count overlapping "
    "windows",
    "privacy.split": "how the budget is split: the sums of each slice have so many times the "
    "weight of the second moment.",
    "report.max_delay": "it leaves after a random delay of up to so many seconds",
    "public.records": "of the public sample",
    "public.coordinates": "numbers that a record is turned into.",
    "public.shares": "of the slices in the sample",
    "public.accuracy": "how often the sample alone was right about its own held-out records; "
    "nothing uses it",
    "public.centres": "The public mean of each slice, after the map: slices x coordinates, float32 "
    "in base64.",
    "public.map": "The map: features x coordinates, float32 in base64, row by row.",
}
_REASONS = {
    "scale": "features.scale",
    "clip": "clip.norm",
    "split": "privacy.split",
    "coordinates": "public.coordinates",
}
_HEAD = (
    "A task: the public contract of one federation. Devices read every line of this, and nobody "
    "can change it underneath them: a changed file is another task. Written from a public sample "
    "of {records} records."
)
_PUBLIC = (
    "What the public sample knows, so that devices need not tell it again. A device standardises a "
    "record, turns it into `coordinates` numbers by the map (each is a weighted sum of all "
    "features; in them records of one slice scatter equally in all directions), takes away the "
    "public centre of the record's own slice, and clips what is left. So reports are about how "
    "far the sample is wrong, and the estimate is the sample, corrected by them. Map and centres "
    "are public, and made from the sample alone."
)


def draft_public(sample: Sample, sliced: Sliced, wishes: Wishes, proposal: Proposal) -> str:
    """A task file, in TOML; what is long and for no human eye stands at its end."""
    reasons = dict(proposal.why)
    comments = dict(_COMMENTS)
    for name, field in _REASONS.items():
        if reason := reasons.pop(name, None):
            comments[field] = f"{comments.get(field, '')} Chosen: {reason}.".strip()
    comments["response." + _kind(sliced)] = sliced.why
    comments["report.records"] = _why_records(wishes)
    sections = _sections(sample, sliced, wishes, proposal.sections)
    head = [comment(_HEAD.format(records=len(sample.X)))]
    head += [comment(note) for note in sample.notes]
    top = {name: value for name, value in sections.items() if not isinstance(value, Mapping)}
    parts = ["\n".join(head + _fields(top, "", comments))]
    for name, table in sections.items():
        if isinstance(table, Mapping):
            said = [_PUBLIC, *(f"{key}: {why}" for key, why in reasons.items())]
            about = [comment(text) for text in said] if name == "public" else []
            parts.append("\n".join([*about, f"[{name}]", *_fields(table, f"{name}.", comments)]))
    return "\n\n".join(parts) + "\n"


def _sections(
    sample: Sample, sliced: Sliced, wishes: Wishes, proposed: Mapping[str, Any]
) -> dict[str, Any]:
    """The whole task, what was proposed merged into it; `[public]` comes last."""
    said: dict[str, Any] = {
        "name": wishes.name,
        "epoch": 1,
        "dimension": "auto",
        "aggregation": "sum",
        "features": {"names": sample.names},
        "response": {
            "name": wishes.response,
            _kind(sliced): list(sliced.slicing.classes or sliced.slicing.cuts),
        },
        "clip": {},
        "privacy": {
            "epsilon": float(wishes.epsilon),
            "delta": DELTA,
            "mechanism": "gaussian",
            "unit_records": wishes.unit_records,
        },
        "report": {"records": wishes.records or RECORDS, "max_delay": 0.0, "presence": False},
    }
    for name, table in proposed.items():
        said[name] = {**said.get(name, {}), **table}
    said["public"] = said.pop("public")
    return said


def _fields(table: Mapping[str, Any], prefix: str, comments: Mapping[str, str]) -> list[str]:
    lines = []
    for key, value in sorted(table.items(), key=lambda entry: is_long(entry[1])):
        if said := comments.get(prefix + key):
            lines.append(comment(said))
        lines.append(f"{key} = {toml(value)}")
    return lines


def _kind(sliced: Sliced) -> str:
    return "classes" if sliced.slicing.classes else "cuts"


def _why_records(wishes: Wishes) -> str:
    guess = "" if wishes.records else f" Here {_GUESSED}."
    return (
        "A device reports once, at exactly so many records. Enough for every class to occur on "
        f"every device?{guess}"
    )


def reasons_in_words(sample: Sample, wishes: Wishes, proposal: Proposal) -> list[tuple[str, str]]:
    """What was chosen, and why, for whoever has typed the command."""
    records = f"{wishes.records} per report, as you say"
    if wishes.records is None:
        records = f"{RECORDS} per report, {_GUESSED} (--records)"
    left_out = [("left out", note) for note in sample.notes]
    return [*left_out, *proposal.why.items(), ("records", records)]
