"""The bytes of a file, at most so many; and in plain words why there are none."""

from __future__ import annotations

import gzip
import zlib
from io import BufferedReader
from pathlib import Path

from fsir.errors import TableError, meant, some
from fsir.tables.formats import GZIP

# As Python texts a table takes up to twenty times as much memory.
MOST_BYTES = 128 * 2**20
_MOST_LISTED = 10_000  # files of a folder, among which a name is looked for


def read_bytes(path: Path, where: str) -> bytes:
    """What is in a file; an archive of gzip is unpacked."""
    try:
        with path.open("rb") as file:
            raw = _unpacked(file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(
            f"{where}: a damaged gzip archive ({error}); pack it again, or give the table itself"
        ) from None
    except OSError as error:
        raise TableError(f"{where}: {why_closed(path, error)}") from None
    if len(raw) > MOST_BYTES:
        raise TableError(
            f"{where}: holds more than {MOST_BYTES // 2**20} MiB; "
            "give a part of its rows, a few thousand of each class will do"
        )
    return raw


def _unpacked(file: BufferedReader) -> bytes:
    if not file.peek(len(GZIP.magic)).startswith(GZIP.magic):
        return file.read(MOST_BYTES + 1)
    with gzip.open(file) as archive:
        return archive.read(MOST_BYTES + 1)


def why_closed(path: Path, error: OSError) -> str:
    """Why a file could not be opened, and what to do."""
    if isinstance(error, IsADirectoryError):
        tables = some(sorted(one.name for one in _listed(path) if one.suffix.lower() == ".csv"))
        return f"is a folder; give a file in it{f', such as {tables}' if tables else ''}"
    if isinstance(error, PermissionError):
        return f"you may not read it; whoever owns it can say: chmod a+r {path}"
    if not isinstance(error, FileNotFoundError):
        return f"{error.strerror}; give the path of a file that can be read"
    folder = path.parent
    if not folder.is_dir():
        return f"there is no such file, and no folder {folder}; give the path of a file"
    close = meant(path.name, (one.name for one in _listed(folder)))
    hint = f"did you mean {close!r}?" if close else "give the path of a file"
    return f"there is no such file; {hint}"


def _listed(folder: Path) -> list[Path]:
    try:
        return [one for one, _ in zip(folder.iterdir(), range(_MOST_LISTED), strict=False)]
    except OSError:
        return []
