"""Rounds: what many reports of one device, whose noise hangs together, tell about a unit."""
