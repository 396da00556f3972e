"""A fleet in several processes, each with a share of the devices: the same devices, the same noise.

A worker is a fork: so the records of all devices are there once. It makes the agents of its share,
tells how many have their answer, and says good-bye when it is told to, or when its parent is gone.
"""

from __future__ import annotations

import gc
import math
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from multiprocessing import connection, get_context
from multiprocessing.context import ForkProcess
from operator import add

from fsir.errors import FsirError
from sim_devices.network.fleet.fleet import TICK_SECONDS, Fleet
from sim_devices.network.fleet.tally import Tally

Numbers = Sequence[int]
Line = connection.Connection
Lines = tuple[Line, ...]
_NEWS_SECONDS = 0.02  # between two messages of a worker about how far it is
_PATIENCE_SECONDS = 60.0  # for its good-byes


class WorkerError(FsirError):
    """A process that plays devices has ended."""


class Workers:
    """Plays one share of the devices in each process; it is used like a `Fleet`."""

    def __init__(self, make: Callable[[Numbers], Fleet], shares: Sequence[Numbers]) -> None:
        self.size = sum(map(len, shares))
        self._told = dict.fromkeys(range(len(shares)), (0, 0))  # by each: done, and accepted
        self._lines: list[Line] = []
        self._processes: list[ForkProcess] = []
        self._tallies: list[Tally] = []
        gc.freeze()  # what is here stays: the collector of a worker would copy it
        for share in shares:
            ours, theirs = get_context("fork").Pipe()
            self._lines.append(ours)
            arguments = (make, share, theirs, tuple(self._lines))
            process = get_context("fork").Process(target=_work, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
        gc.unfreeze()

    @property
    def done(self) -> int:
        """How many have their answer, or take no part."""
        return sum(done for done, _ in self._told.values())

    @property
    def accepted(self) -> int:
        """How many were counted; to be asked when all are done."""
        return sum(accepted for _, accepted in self._told.values())

    def run(
        self, finished: Callable[[], bool], seconds: float, progress: Callable[[int], None]
    ) -> bool:
        """Let them play until `finished`; False if that takes longer than `seconds`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in connection.wait(self._lines, TICK_SECONDS):
                which = self._lines.index(line)  # type: ignore[arg-type]
                self._told[which] = self._hear(which)
            progress(self.done)
            if finished():
                return True
        return False

    def _hear(self, which: int) -> tuple[int, int]:
        try:
            told: tuple[int, int] = self._lines[which].recv()
        except (EOFError, OSError):
            self._processes[which].join(_PATIENCE_SECONDS)
            status = self._processes[which].exitcode
            raise WorkerError(
                f"a process that plays {self.size // len(self._lines)} devices ended with status "
                f"{status}: see above, or take fewer devices"
            ) from None
        return told

    def close(self) -> None:
        """Let all devices say good-bye, and the processes end."""
        for line in self._lines:
            with suppress(OSError):
                line.send(None)
        for line, process in zip(self._lines, self._processes, strict=True):
            with suppress(EOFError, OSError):
                self._tallies.append(_last(line))
            line.close()
            process.join(_PATIENCE_SECONDS)

    def tally(self) -> Tally:
        """What there is to tell of all of them, once they have said good-bye."""
        return reduce(add, self._tallies)


def _last(line: Line) -> Tally:
    """The last that a worker says."""
    while not isinstance(told := line.recv(), Tally):
        pass
    return told


def _work(make: Callable[[Numbers], Fleet], share: Numbers, line: Line, others: Lines) -> None:
    """What a worker does; `others` are the ends of its parent, which it must not hold open."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, who then hangs up
    for other in others:
        other.close()
    fleet = make(share)
    with suppress(BrokenPipeError, ConnectionResetError):  # nobody wants to know any more
        fleet.run(line.poll, math.inf, _News(fleet, line))
        fleet.close()
        line.send(fleet.tally())


class _News:
    """Tells how far a fleet is, if that has changed, and not too often."""

    def __init__(self, fleet: Fleet, line: Line) -> None:
        self._fleet = fleet
        self._line = line
        self._told = (0, 0)
        self._next = 0.0

    def __call__(self, done: int) -> None:
        if (now := time.monotonic()) < self._next:
            return
        self._next = now + _NEWS_SECONDS
        news = (done, self._fleet.accepted if done == self._fleet.size else 0)
        if news != self._told:
            self._told = news
            self._line.send(news)
