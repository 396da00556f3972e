"""A federation on this machine: broker, aggregator and a fleet of virtual devices."""
