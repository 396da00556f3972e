"""How far a run is: a bar on a terminal, and elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_SHOWN_SECONDS = 0.1  # between two looks of a bar that has no thread
_EVERY_SECONDS = 10.0  # a line where nobody sees a bar; short runs say nothing


@contextmanager
def watched(text: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A function `(done, total)` that shows how far it is, on standard error."""
    if sys.stderr.isatty():
        with bar(text, unit) as moved:
            yield moved
        return
    said = time.monotonic()

    def update(done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - said >= _EVERY_SECONDS:
            said = time.monotonic()
            print(f"{text}: {done} of {total} {unit}", file=sys.stderr, flush=True)

    yield update


@contextmanager
def bar(
    text: str, unit: str = "devices done", *, thread: bool = True
) -> Iterator[Callable[[int, int], None]]:
    """A function `(done, total)` that moves the bar; without a `thread` nothing else does.

    A thread of the bar would keep who calls this from being forked.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), auto_refresh=thread) as progress:
        item = progress.add_task(text, total=None)
        shown = time.monotonic()

        def update(done: int, total: int) -> None:
            nonlocal shown
            progress.update(item, completed=done, total=total)
            if not thread and time.monotonic() - shown >= _SHOWN_SECONDS:
                shown = time.monotonic()
                progress.refresh()

        yield update
