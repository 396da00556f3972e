"""Values in a file are the values that were meant, in lines of bearable length."""

from __future__ import annotations

import base64
import os
import tomllib

import pytest

from aggregator.tasks.toml import comment, toml


@pytest.mark.parametrize("size", [0, 1, 71, 72, 73, 5000])
def test_bytes_come_back_without_a_trace_of_the_lines_they_stood_on(size):
    raw = os.urandom(size)
    text = f"map = {toml(raw)}\n"
    found = tomllib.loads(text)["map"]
    assert not set(found) & set(" \t\r\n\\")
    assert base64.b64decode(found, validate=True) == raw
    assert max(map(len, text.splitlines())) <= 100


def test_tables_and_texts_come_back():
    value = {"a": 1, "b": ["ü", 'say "no"\n'], "c": {"d": False, "e": b"abc"}}
    found = tomllib.loads(f"x = {toml(value)}")["x"]
    assert found == {**value, "c": {"d": False, "e": "YWJj"}}


def test_a_comment_has_a_mark_on_every_line():
    lines = comment("many words " * 40).splitlines()
    assert len(lines) > 3
    assert all(line.startswith("# ") and len(line) <= 100 for line in lines)
