"""The same work done by an earlier commit and by this one, in turns in the same run."""
