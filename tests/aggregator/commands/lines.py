"""Command lines, and what comes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aggregator.cli import main
from tests.aggregator.federations import make_task, screening_task

TASK = make_task(p=3, records=60)
OTHER = screening_task(quorum=2)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command prints."""
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What a command tells programs."""
    return json.loads(run(capsys, *arguments, "--json"))


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command complains about."""
    assert main(list(arguments)) == 2
    return capsys.readouterr().err
