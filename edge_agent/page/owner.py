"""What the page shows and does for the owner of one state directory."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Lock

from edge_agent.account.press import press
from edge_agent.consent.policy import Policy
from edge_agent.page import document
from edge_agent.page.document import Shown
from edge_agent.page.live import Live
from edge_agent.page.look import Watch
from edge_agent.state.state import State
from fsir.errors import FsirError


class Owner:
    """Looks at the state, and presses buttons; browsers are served by several threads."""

    def __init__(
        self,
        directory: Path,
        policy: Policy,
        *,
        named: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._directory = directory
        self._policy = policy
        self._named = named
        self._clock = clock
        self._watch = Watch(directory, policy)
        self._live = Live(directory)
        self._lock = Lock()

    def page(self, csrf: str) -> str:
        """The page as it is now."""
        with self._lock:
            now = self._clock()
            try:
                look = self._watch.look(now)
                label = self._watch.label(now)
            except FsirError as error:
                return document.trouble(str(error))
            self._live.look()
            shown = Shown(
                look=look,
                live=self._live,
                label=label,
                pace=self._watch.pace,
                policy=self._policy,
                named=self._named,
                csrf=csrf,
                now=now,
            )
            return document.page(shown)

    def press(self, label: str) -> None:
        """The owner is doing this."""
        with self._lock:
            press(self._directory, label, self._clock())

    def let_go(self, task: str) -> None:
        """A report that is held may leave."""
        with self._lock, closing(State(self._directory, None, read_only=True)) as state:
            state.holds.request(task)

    def hush(self) -> None:
        """Nobody looks any more: let the agent know."""
        with self._lock:
            self._live.close()
