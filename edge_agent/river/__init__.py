"""The agent's accumulators as a River transformer. Importing this needs River."""

from edge_agent.river.transformer import FSIR

__all__ = ["FSIR"]
