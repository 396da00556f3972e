"""Tables that people bring: how they are read, and which of their columns can be used."""
