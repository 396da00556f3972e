"""Task files before any device sees them: written from public samples, and what they will give."""
