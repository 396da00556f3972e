"""The device's side of MQTT: one connection that keeps itself up."""
