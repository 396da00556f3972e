"""The commands that take the other side: audit, attack, poison."""
