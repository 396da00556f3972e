"""What a device can tell its owner about itself: for commands, the owner's page and outputs."""
