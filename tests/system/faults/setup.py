"""What a schedule starts from: tasks, the broker, the aggregators, and who is in danger."""

from __future__ import annotations

from dataclasses import dataclass

from tests.system.harness.one_hot import Federation


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A federation before anything happens to it."""

    federation: Federation
    broker: str = "debian"
    replayable: bool = True
    broken: str | None = None  # a safeguard of the aggregator that is out of order
    more: tuple[str, ...] = ()  # lines of the broker's configuration
    second: Federation | None = None  # another task of the same devices
    workers: int = 1
    victims: frozenset[int] = frozenset()  # devices that may be withdrawn or stopped
    shy: frozenset[int] = frozenset()  # devices whose owners refuse the second task
    store: str = ""  # its address; a file of its own if there is none
    debounce: float | None = None  # seconds between two estimates; None: no estimates

    @property
    def federations(self) -> tuple[Federation, ...]:
        """All of them."""
        return (self.federation,) if self.second is None else (self.federation, self.second)
