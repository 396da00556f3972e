"""From a public sample to the constants of a task: standardisation, map, clip, split. Pure."""
