"""A dry run: what some records of a source look like to a task, before anything is learned."""
