"""The errors of the agent; those of tasks, messages and records are in `fsir.errors`."""

from __future__ import annotations

from fsir.errors import FsirError


class StateError(FsirError):
    """A state directory that this agent must not use."""


class StorageError(FsirError):
    """The disk took nothing: full, read-only or broken. Nothing was spent; try again later."""


class SourceError(FsirError):
    """A source of records that cannot be read, or not from where it was left."""
