"""The virtual devices of a simulated federation, and who plays them."""
