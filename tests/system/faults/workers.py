"""The aggregator's processes over one store, one or several; and who is withdrawn from it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aggregator.store.base import Store
from aggregator.store.errors import StoreError
from aggregator.store.opening import open_store
from aggregator.store.rows import TaskRow
from fsir.privacy.plan import FINAL
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace, report_id, topic
from tests.system.harness.forkserver import Child, ForkServer

NAMES = ("worker-a", "worker-b", "worker-c", "worker-d")
_NOT_YET = (
    "no such file",
    "does not hold it",
    "start `serve`",
)  # the aggregator has not come to write its store
# The last: before it has come to listen to signals.
_ENDINGS = (None, 0, -signal.SIGKILL, -signal.SIGTERM)
_WITHDRAWAL_SECONDS = 60.0


class Workers:
    """As many aggregators as there are places, behind a shared subscription if there are several.

    Whoever starts takes a free place, under the old name or another.
    """

    def __init__(
        self, server: ForkServer, directory: Path, places: int, store: str = "", **options: Any
    ) -> None:
        self._server = server
        self.directory = directory
        self._options = options
        self.store = store or f"sqlite:{directory / 'store.db'}"  # its address
        self._places: list[Child | None] = [None] * places
        self._names = list(NAMES[:places])
        self._ended: list[Child] = []
        self.withdrawn: set[tuple[str, str]] = set()  # tasks and devices
        self._owed: set[tuple[str, str]] = set()  # withdrawals that were killed, or came too early
        self._trouble: list[str] = []

    @property
    def aggregator(self) -> Child:
        """The first one."""
        child = self._places[0]
        assert child is not None, "nobody has started an aggregator"
        return child

    def _runs(self, place: int) -> bool:
        child = self._places[place]
        return child is not None and child.poll() is None

    def start_aggregator(
        self,
        clock: float = 0.0,
        kill: tuple[str, int] | None = None,
        place: int | None = None,
        *,
        rename: int = 0,
    ) -> None:
        """Start what does not run: under the same names or, if `rename` is above 0, others."""
        for k in range(len(self._places)) if place is None else (place,):
            if self._runs(k):
                continue
            if (old := self._places[k]) is not None:
                self._ended.append(old)
            if rename:
                free = [name for name in NAMES if name not in self._names]
                self._names[k] = free[rename % len(free)]
            share = "workers" if len(self._places) > 1 else None
            self._places[k] = self._server.start(
                "serve",
                self.directory / "aggregator.log",
                store=self.store,
                clock=clock,
                kill=kill,
                worker=self._names[k],
                share=share,
                **self._options,
            )

    def stop_aggregator(
        self, how: signal.Signals = signal.SIGKILL, place: int | None = None
    ) -> None:
        """End one of them, or all."""
        for child in self._places if place is None else [self._places[place]]:
            if child is not None:
                child.kill(how)

    def accidents(self) -> list[str]:
        """Aggregators that have ended although nobody has ended them."""
        ended = [child for child in [*self._ended, *self._places] if child is not None]
        codes = sorted({code for child in ended if (code := child.poll()) not in _ENDINGS})
        log = self.directory / "aggregator.log"
        return [
            *self._trouble,
            *(f"an aggregator has ended with {code}: {log.read_text()[-2000:]}" for code in codes),
        ]

    # --- devices that are taken out again ---------------------------------------------------------

    def withdraw(self, task: str, device: str, kill: tuple[str, int] | None = None) -> str:
        """`fsir-aggregator withdraw`; may be killed, and is then repeated later."""
        arguments = [
            "withdraw",
            device,
            "--future",
            "--store",
            self.store,
            "--task",
            task,
        ]
        log = self.directory / f"withdraw-{len(list(self.directory.glob('withdraw-*')))}.log"
        child = self._server.start("command", log, arguments=arguments, kill=kill)
        code = child.wait(_WITHDRAWAL_SECONDS)
        self._owed.discard((task, device))
        if code == 0:
            self.withdrawn.add((task, device))
        elif code == -signal.SIGKILL or any(words in child.said() for words in _NOT_YET):
            self._owed.add((task, device))
        else:
            self._trouble.append(f"withdraw has ended with {code}: {child.said()}")
        return child.said().strip() or f"killed: {code}"

    def withdraw_again(self) -> None:
        """Whatever did not come to its end before."""
        for task, device in sorted(self._owed):
            self.withdraw(task, device)

    def refused(self) -> set[bytes]:
        """Reports that were refused because their device is out."""
        store = open_store(self.store, create=False)
        try:
            return {row.id for row in store.refused(10**6) if row.reason == "withdrawn"}
        finally:
            store.close()

    def unanswered(self, sent: dict[tuple[str, str], list[bytes]]) -> list[tuple[str, str, bytes]]:
        """Of what withdrawn devices have sent, what has not come again since and been refused."""
        if not self.withdrawn:
            return []
        refused = self.refused()
        return [
            (task, device, raw)
            for task, device in sorted(self.withdrawn)
            for raw in sent[task, device]
            if report_id(raw) not in refused
        ]

    # --- what they publish ------------------------------------------------------------------------

    def unpublished(self, seen: dict[str, bytes]) -> list[str]:
        """What is not published as it should be: the store's latest, from all who are counted."""
        if self._owed:
            return [
                f"{device} is not withdrawn from {task} yet" for task, device in sorted(self._owed)
            ]
        try:
            store = open_store(self.store, create=False)
        except StoreError as error:
            return [str(error)]
        try:
            return [line for task in store.tasks() for line in self._outdated(store, task, seen)]
        finally:
            store.close()

    def _outdated(self, store: Store, task: TaskRow, seen: dict[str, bytes]) -> Iterator[str]:
        if self._options.get("debounce") is not None and not _up_to_date(store, task.key):
            yield f"{task.name}: the subspace is not from all who are counted"
        for kind in ("active", "subspace"):
            row = store.published(task.key, kind)
            if seen.get(topic(task.name, kind), b"") != (b"" if row is None else row.body):
                yield f"{task.name}: the broker has another {kind} than the store"


def _up_to_date(store: Store, key: int) -> bool:
    rounds = store.rounds(key, FINAL)
    change = sum(row.change for row in rounds)
    shown = store.published(key, "subspace")
    if shown is None or shown.change != change:
        return change == 0  # nobody has reported
    devices = decode(shown.body, Subspace).devices
    if patterns := store.patterns(key, FINAL):  # of several rounds the memory may use some
        return 0 < devices <= sum(patterns.values())
    return devices == sum(row.devices for row in rounds)
