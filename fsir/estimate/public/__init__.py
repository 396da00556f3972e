"""Estimates of tasks with a public map: what a public sample says, corrected by reports. Pure."""
