"""The name under which River users import `FSIR`: `from edge_agent.transformer import FSIR`."""

from edge_agent.river.transformer import FSIR

__all__ = ["FSIR"]
