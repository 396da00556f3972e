"""Simulated devices: the real agent code, replaying real and synthetic data over real MQTT."""
