"""What a store says when it cannot do what it should."""

from __future__ import annotations

from fsir.errors import FsirError


class StoreError(FsirError):
    """A store that cannot be opened, or is not what it should be."""


class StoreBusyError(StoreError):
    """The store cannot be written at the moment (disk full, locked, out of reach).

    Nothing was changed: try again later.
    """
