"""Federations drawn anew from an estimate, to see how far off it may be."""
