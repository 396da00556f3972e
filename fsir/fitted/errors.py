"""What can go wrong for who works with a fitted subspace; scikit-learn expects `ValueError`."""

from __future__ import annotations

from fsir.errors import FsirError


class InputError(FsirError, ValueError):
    """A table that cannot be transformed, or something that this subspace cannot do."""


class ExportError(FsirError, ValueError):
    """A file or bytes that no subspace can be loaded from."""


class NotInstalledError(FsirError, ImportError):
    """Something that needs a package which is not there, with the command that installs it."""
