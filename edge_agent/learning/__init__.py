"""From records to the one report of each stage, and what is served afterwards."""
