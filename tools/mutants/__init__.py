"""Mistakes that cost privacy, made on purpose in a copy: tests or audit must see each."""
