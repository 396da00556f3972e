"""Who takes part, under which task, and how good the result is."""
