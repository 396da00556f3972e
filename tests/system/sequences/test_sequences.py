"""Any sequence of operations and faults, thought up by Hypothesis: the books balance afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as Step
from hypothesis.stateful import run_state_machine_as_test

from tests.postgres import Cluster
from tests.system.harness.safeguards import (
    Patch,
    fresh_noise,
    no_dedupe,
    position_not_committed,
)
from tests.system.sequences.machine import Sequences

SEQUENCES = settings(deadline=None, suppress_health_check=list(HealthCheck), stateful_step_count=40)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)  # a sequence is repeated many times while it is made shorter


@pytest.mark.parametrize(
    "examples",
    [
        pytest.param(40, id="some"),
        pytest.param(1000, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_the_books_balance_after_any_sequence(examples: int) -> None:
    run_state_machine_as_test(Sequences, settings=settings(SEQUENCES, max_examples=examples))


@pytest.mark.parametrize(
    "examples",
    [
        pytest.param(4, id="some"),
        pytest.param(200, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_the_books_balance_after_any_sequence_in_postgresql(
    examples: int, postgres: Cluster
) -> None:
    class InPostgres(Sequences):
        @cached_property
        def address(self) -> str:
            return postgres.fresh()

    run_state_machine_as_test(InPostgres, settings=settings(SEQUENCES, max_examples=examples))


@pytest.mark.parametrize("broken", [no_dedupe, fresh_noise, position_not_committed])
def test_a_broken_safeguard_is_found(
    broken: Callable[[Patch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch.setattr)
    search = settings(
        SEQUENCES, max_examples=1000, phases=[Step.generate], derandomize=True, database=None
    )
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(Sequences, settings=search)
