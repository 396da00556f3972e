"""Vectors of noisy integers in about as few bits as they have information."""
