"""`fsir-aggregator keys`: the keys of an aggregator that is one of two; each action is a file."""

from __future__ import annotations

ACTIONS = {"new": "make a key pair, and print its public half for the task"}
