"""The embedded broker, in a process of its own."""
