"""What the device tells its owner: the class of each record, how often it was right, drift."""
