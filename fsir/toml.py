"""Tasks as TOML text: the standard library reads TOML but does not write it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def to_toml(table: Mapping[str, Any]) -> str:
    """TOML for a table of plain values and one level of sections, such as `Task.table()`; read back, it is equal."""
    plain = [
        f"{key} = {_value(value)}" for key, value in table.items() if not isinstance(value, Mapping)
    ]
    sections = [
        f"\n[{key}]\n{to_toml(value)}" for key, value in table.items() if isinstance(value, Mapping)
    ]
    return "\n".join([*plain, *sections]) + ("\n" if sections else "")


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    # Texts, whole numbers, booleans and finite floats are written the same way in JSON and TOML.
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
