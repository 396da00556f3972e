"""`fsir-aggregator store`: what is done with a whole store; each action is a file of its own."""

from __future__ import annotations

ACTIONS = {"copy": "move a federation to another store"}
