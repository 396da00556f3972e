"""Why a report is refused: the codes of receipts, quarantine and metrics, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass

REASONS = {
    "wrong topic": "the topic names no task of this aggregator, or no possible device",
    "malformed": "the bytes are not a report of this protocol: "
    "broken, too long, a field missing, wrong or unknown",
    "wrong version": "the report speaks another version of the protocol; "
    "update the agent or the aggregator",
    "wrong task": "the report was made for another task (or another edition of it) "
    "than the topic's",
    "wrong device": "the report names another device than the topic that it came by",
    "wrong stage": "the task has no such stage",
    "wrong round": "the stage has no such round",
    "no active set": "a final report came before the active set was published: "
    "nobody can know its features",
    "wrong shape": "the report holds other blocks, or votes of another shape, "
    "than the task asks for",
    "does not open": "a share was sealed to another key than that of this aggregator, "
    "or for another device, stage, round or task",
    "not enrolled": "the operator of this aggregator has a roster, and the device is not on it",
    "wrong cohort": "a message of the other aggregator that is not signed by it, "
    "or is about nothing that is here",
    "wrong size": "the report is about another number of records than the task asks for",
    "implausible": "no honest device can have sent these sums: "
    "clip, number of records and noise do not allow them",
    "withdrawn": "the device was withdrawn from the task",
    "second report": "a different report of the same device and stage was counted already",
    "full": "the exact sums can take no more reports; start a new epoch of the task",
    "internal error": "the aggregator failed on this report; its log says how",
}
_MOST_CHARACTERS = 300  # of a reason in a receipt


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason and the detail that helps to mend it."""

    reason: str
    detail: str

    @property
    def text(self) -> str:
        """What a receipt says: the code, a colon, the detail; short and printable.

        >>> Refusal("wrong device", "names 'a\\nb'").text
        "wrong device: names 'a?b'"
        """
        shown = "".join(c if c.isprintable() else "?" for c in f"{self.reason}: {self.detail}")
        return shown if len(shown) <= _MOST_CHARACTERS else shown[: _MOST_CHARACTERS - 3] + "..."
