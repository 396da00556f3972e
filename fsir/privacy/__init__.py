"""What bounds and hides a record: clip, exact sums, noise, release, and what all of it costs. Pure."""
