"""What can be done while something else is waited for."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import connection, get_context
from typing import Generic, TypeVar

T = TypeVar("T")


def may_fork() -> bool:
    """Whether a fork is safe here: other threads would not survive it, nor do all systems."""
    return sys.platform == "linux" and threading.active_count() == 1


class Meanwhile(Generic[T]):
    """The value of a function, worked out by a fork, which has all that the function needs.

    Where there can be none, or its value does not come, the function is called for the result.
    """

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._line: connection.Connection | None = None
        if may_fork():
            self._line, theirs = get_context("fork").Pipe(duplex=False)
            arguments = (function, self._line, theirs)
            get_context("fork").Process(target=_work, args=arguments, daemon=True).start()
            theirs.close()

    def result(self) -> T:
        """Wait for the value."""
        if self._line is not None:
            with self._line, suppress(EOFError, OSError):
                value: T = self._line.recv()
                return value
        return self._function()


def _work(
    function: Callable[[], T], ours: connection.Connection, theirs: connection.Connection
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who waits
    ours.close()
    with suppress(Exception):  # who waits calls the function again, and learns what is wrong
        theirs.send(function())


@contextmanager
def loading(*modules: str) -> Iterator[None]:
    """Load modules that will be wanted soon, in a thread; the end waits for them."""
    thread = threading.Thread(target=_load, args=modules)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _load(*modules: str) -> None:
    for module in modules:
        with suppress(ImportError):  # who wants it says what is missing
            import_module(module)
