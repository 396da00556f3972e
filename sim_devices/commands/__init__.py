"""One module for each command of `fsir-sim`, named after it: its options, and what it does."""
