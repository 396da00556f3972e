"""The parts of the page, each a function that returns elements, in plain words."""
