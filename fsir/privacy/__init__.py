"""What bounds and hides a record: clip, exact sums, noise, release, and what it costs. Pure."""
