"""Your own table as a federation: who is public, who takes part, who is asked afterwards."""
