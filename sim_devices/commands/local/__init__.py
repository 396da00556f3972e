"""Commands that give this machine something to work with."""
