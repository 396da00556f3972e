"""The loop that joins source, agents, broker and output, until a run ends."""
