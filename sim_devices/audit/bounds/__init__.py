"""Lower bounds on epsilon for a pair of neighbours: exact, by sampling, by search."""
