"""The audit of the agent as it ships, from outside."""
