"""One report in a process of its own."""
