"""Names of devices: from the book of whoever lets them in, and from the fingers of an operator."""
