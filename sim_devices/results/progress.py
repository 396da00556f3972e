"""How far a run is: a bar on a terminal, and elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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
def bar(text: str, unit: str = "devices done") -> Iterator[Callable[[int, int], None]]:
    """A function `(done, total)` that moves the bar."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        item = progress.add_task(text, total=None)
        yield lambda done, total: progress.update(item, completed=done, total=total)
