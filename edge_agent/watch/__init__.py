"""Whether records are what a task expects: looked at on the device, before its one report."""
