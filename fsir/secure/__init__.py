"""Shares, seals and keys of tasks that two aggregators open together.

`ring`, `groups`, `rounding` and `opening` are arithmetic; `shares`, `sealing`, `keys` and `report`
load `cryptography` (extra `[secure]`), and so only a program with such a task imports them.
"""
