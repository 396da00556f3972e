"""A task file with a public map, with comments for whoever edits it, from a public sample."""

from __future__ import annotations

from aggregator.tasks.document import HEAD, document
from aggregator.tasks.sample import Sample
from aggregator.tasks.slices import Sliced
from aggregator.tasks.wishes import Wishes
from fsir.proposal.proposal import Proposal

# What each field is. Where the proposal has a reason of the same name, that comes behind it.
_COMMENTS = {
    "clip.truncate": "R: a standardised value is cut off here. Far out, for a broken sensor: the "
    "clip below does the rest.",
    "clip.norm": "C: what is left of a record after map and centre is scaled down to this length, "
    "if it is longer. All noise is proportional to it.",
    "privacy.split": "how the budget is split: the sums of each slice have so many times the "
    "weight of the second moment.",
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
    comments = wishes.comments(sliced) | _COMMENTS
    for name, field in _REASONS.items():
        if reason := reasons.pop(name, None):
            comments[field] = f"{comments.get(field, '')} Chosen: {reason}.".strip()
    sections = wishes.sections(sample.names, sliced)
    for name, table in proposal.sections.items():
        sections[name] = {**sections.get(name, {}), **table}
    sections["public"] = sections.pop("public")  # last
    if wishes.mechanism != "gaussian":
        del sections["privacy"]["split"]  # nothing else has one
    head = [HEAD.format(records=len(sample.X)), *sample.notes, *sample.remarks]
    about = {"public": [_PUBLIC, *(f"{key}: {why}" for key, why in reasons.items())]}
    return document(head, sections, comments, about)
