"""Files and folders that a command was told to write: one that cannot be written is a mistake."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fsir.errors import FsirError


@contextmanager
def writing(option: str, path: str | Path) -> Iterator[None]:
    """Around whatever writes what an option names.

    >>> with writing("--output", "/dev/full"):
    ...     _ = Path("/dev/full").write_text("...")
    Traceback (most recent call last):
    fsir.errors.FsirError: --output /dev/full: No space left on device; give a place that can be \
written and has room
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        why = error.strerror or str(error)
        raise FsirError(
            f"{option} {path}: {why}; give a place that can be written and has room"
        ) from None


def writable_folder(option: str, path: Path) -> Path:
    """The folder, made if it does not exist: tried before hours of work depend on it."""
    with writing(option, path):
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    return path
