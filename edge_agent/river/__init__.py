"""Sliced inverse regression as a River transformer, alone or with a federation behind it."""

from edge_agent.river.transformer import FSIR

__all__ = ["FSIR"]
