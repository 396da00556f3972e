"""The mathematics that agent, aggregator and simulator share: no sockets, no files, no clocks."""
