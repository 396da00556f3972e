"""What is seen where two aggregators open sums: exact laws of integers, and the shipped code."""
