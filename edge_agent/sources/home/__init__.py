"""One record from many topics: the last known values of a home, sampled by the clock."""
