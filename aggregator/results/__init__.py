"""What the counted reports amount to: the active set, the subspace."""
