"""From a 50 Hz signal to features: windows, filters, statistics, scales. Pure."""
