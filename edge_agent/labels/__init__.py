"""What the owner says about records: presses, topics, files, and which record gets which label."""
