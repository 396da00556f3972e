"""What stands between a table (a TOML file, a message) and a `Task`: every field is checked."""
