"""The agent's accumulators as a River transformer."""
