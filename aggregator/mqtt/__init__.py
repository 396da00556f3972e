"""The aggregator's side of MQTT: handshake by paho, packets by our own hand."""
