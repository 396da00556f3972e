"""When devices report: after how many records, until when, and how often."""
