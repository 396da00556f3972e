"""Tracing attacks: who took part, told from what was published."""
