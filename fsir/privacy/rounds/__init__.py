"""Reports that follow each other: how their noise hangs together, and what they tell."""
