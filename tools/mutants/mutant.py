"""A mutant: one mistake, as a replacement of a few characters of the source.

Anchors are small, so that they survive most changes around them. One that is not found exactly once
is an error: then the source has moved, and the mutant must follow it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class MovedError(Exception):
    """An anchor that the source has not, or has more than once."""


@dataclass(frozen=True)
class Edit:
    """Some text of a file, and what takes its place."""

    path: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Change the file below `root`."""
        file = root / self.path
        text = file.read_text() if file.is_file() else ""
        found = text.count(self.old)
        if found != 1:
            raise MovedError(
                f"{self.path} has {self.old!r} {found} times: give the mutant an anchor that is "
                "there once"
            )
        file.write_text(text.replace(self.old, self.new))


@dataclass(frozen=True)
class Mutant:
    """One mistake."""

    name: str
    edits: tuple[Edit, ...]

    def apply(self, root: Path) -> None:
        """Make it below `root`."""
        for edit in self.edits:
            edit.apply(root)


def mutant(name: str, *edits: tuple[str, str, str]) -> Mutant:
    """A mistake of this name; each edit has a path, the text there, and what takes its place."""
    return Mutant(name, tuple(Edit(*edit) for edit in edits))
