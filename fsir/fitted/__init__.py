"""The estimate as an object to work with: load it, transform, predict, plot, and export it."""
