"""Private ways to an active set, and then to an estimate, in the high-dimensional tables."""
