"""The commands that hold federations against what is public."""
