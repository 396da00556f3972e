"""`fsir-aggregator task`: writes or checks a task file; each action is a file of its own."""

from __future__ import annotations

ACTIONS = {
    "check": "validate and explain",
    "new": "write a task file from a public sample",
}
