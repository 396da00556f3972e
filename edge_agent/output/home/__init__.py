"""`--output mqtt:TOPIC`: what the device learns for its owner, on a broker of the owner's own."""
