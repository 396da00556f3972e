"""What an operator's tools read: health, metrics, logs."""
