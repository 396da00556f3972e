"""Estimates of rounds that follow each other: what is added up, how far back, and what changed."""
