"""The audit: lower bounds on what a release really gives away, and the tracing attack;
see docs/privacy.md."""
