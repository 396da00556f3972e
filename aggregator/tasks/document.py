"""A task file for people: a comment above every field, and what is long at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aggregator.tasks.toml import comment, is_long, toml

HEAD = (
    "A task: the public contract of one federation. Devices read every line of this, and nobody "
    "can change it underneath them: a changed file is another task. Written from a public sample "
    "of {records} records."
)


def document(
    head: Sequence[str],
    sections: Mapping[str, Any],
    comments: Mapping[str, str],
    about: Mapping[str, Sequence[str]],
) -> str:
    """A TOML file.

    `head` stands above all, `comments` above the fields at their places, `about` above sections.
    """
    top = {name: value for name, value in sections.items() if not isinstance(value, Mapping)}
    parts = ["\n".join([*map(comment, head), *_fields(top, "", comments)])]
    for name, table in sections.items():
        if isinstance(table, Mapping):
            said = map(comment, about.get(name, ()))
            parts.append("\n".join([*said, f"[{name}]", *_fields(table, f"{name}.", comments)]))
    return "\n\n".join(parts) + "\n"


def _fields(table: Mapping[str, Any], prefix: str, comments: Mapping[str, str]) -> list[str]:
    lines = []
    for key, value in sorted(table.items(), key=lambda entry: is_long(entry[1])):
        if said := comments.get(prefix + key):
            lines.append(comment(said))
        lines.append(f"{key} = {toml(value)}")
    return lines
