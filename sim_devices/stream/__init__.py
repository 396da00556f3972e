"""Federations that go on: many rounds of the same devices, beside those that report once."""
