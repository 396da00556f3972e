"""What federations are worth: each held against the best that is public, set by set."""
