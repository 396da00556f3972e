"""A progress bar on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


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
