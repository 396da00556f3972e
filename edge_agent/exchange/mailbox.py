"""The topics that a device reads, and messages that came before they could be read."""

from __future__ import annotations

from fsir.task.secure import HELPER
from fsir.wire.messages import receipt_topic, topic

# In this order: a broker that sends what it keeps in the order of our topics tells the receipt
# before the task is acted upon.
KINDS = ("receipt", "active", "subspace", "task")


class Mailbox:
    """Of one device in one task; of each topic the last message waits.

    >>> box = Mailbox("activity", "pi-7")
    >>> box.keep("fsir/1/activity/subspace", b"...")
    >>> box.keep("fsir/1/activity/receipt/pi-7", b"...")
    >>> [topic for topic, _ in box.take()], box.take()
    (['fsir/1/activity/receipt/pi-7', 'fsir/1/activity/subspace'], [])
    """

    def __init__(self, task: str, device: str) -> None:
        self._kinds = {
            topic(task, kind, device if kind == "receipt" else None): kind for kind in KINDS
        }
        self._helpers = receipt_topic(task, device, HELPER)
        self._waiting: dict[str, bytes] = {}

    def hear_both(self) -> None:
        """The task has two aggregators: read the receipts of the second one as well."""
        self._kinds = {self._helpers: "receipt", **self._kinds}

    def is_helpers(self, topic: str) -> bool:
        """Whether only the second of two aggregators may write here."""
        return topic == self._helpers

    @property
    def topics(self) -> list[str]:
        """What to subscribe to."""
        return list(self._kinds)

    def kind_of(self, topic: str) -> str | None:
        """What a topic is about; None if it is not ours."""
        return self._kinds.get(topic)

    def __len__(self) -> int:
        return len(self._waiting)

    def keep(self, topic: str, payload: bytes) -> None:
        """A message that waits for the task, or for the disk."""
        self._waiting[topic] = payload

    def take(self) -> list[tuple[str, bytes]]:
        """All that waits, in the order of the topics; nothing does any more."""
        waiting = self._waiting
        self._waiting = {}
        return [(topic, waiting[topic]) for topic in self._kinds if topic in waiting]
