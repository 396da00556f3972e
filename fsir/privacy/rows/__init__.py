"""Rows of records on their way into exact sums."""
