"""May I spend? The owner's policy, the budget, and whether a task is taken at all."""
