"""From records to the reports of each stage, and what is served afterwards."""
