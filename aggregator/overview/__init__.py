"""What an operator wants to know of a task, from the store alone: for people, pages and tools."""
