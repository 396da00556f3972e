"""The flights of the paper, with settings rehearsed on a public sample."""
