"""What nearly all reports and receipts look like: they are read and written without a walk."""
