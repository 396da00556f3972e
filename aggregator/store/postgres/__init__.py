"""The store in PostgreSQL, for workers on several machines; `psycopg` is loaded only here."""
