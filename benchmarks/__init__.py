"""Figures that the project stands for, as ratios wherever a machine would matter:
`python -m benchmarks [NAME ...]`.

Every module here with `run() -> dict[str, float]` is a benchmark; its `BARS` name what a figure
must reach.
"""
