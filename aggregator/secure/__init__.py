"""Two aggregators who open sums together, and learn nothing else (docs/privacy.md, theorem 15)."""
