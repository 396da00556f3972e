"""The part of one device in one task: where it stands, records in, reports out."""
