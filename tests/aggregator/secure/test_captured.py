"""What either aggregator alone keeps tells nothing: shares are uniform, lengths fixed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from fsir.privacy.plan import first_stage
from fsir.task.secure import HELPER, LEADER, ROLES
from tests.aggregator.secure.pair import Two, sealed, secure_task

TASK = secure_task(60, cohort=20)  # nobody proposes here: all of it waits
STAGE = first_stage(TASK)
WIDTH = sum(STAGE.sizes)
REPORTS = 1 + 500_000 // WIDTH  # of each kind: a million words in all
LEAST = 1e-7  # a chance that is taken for none


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[np.ndarray]]:
    """The bytes that each aggregator keeps of two kinds of reports: of nothing, and of much."""
    two = Two(tmp_path_factory.mktemp("captured"), TASK)
    much = np.random.default_rng(1).integers(-(10**6), 10**6, WIDTH)
    lengths = set()
    for kind, values in enumerate((np.zeros(WIDTH, np.int64), much)):
        for i in range(REPORTS):
            device = f"device-{kind}-{i:04d}"
            raw = sealed(TASK, device, values)
            lengths.add(len(raw))
            two.send(device, raw)
    assert len(lengths) == 1
    found: dict[str, list[np.ndarray]] = {role: [] for role in ROLES}
    for role in ROLES:
        for kind in range(2):
            rows = two.store(role)._db.execute(
                "SELECT raw FROM report WHERE device LIKE ?", (f"device-{kind}-%",)
            )
            kept = b"".join(raw for (raw,) in rows)
            found[role].append(np.frombuffer(kept, np.uint8))
    return found


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", [0, 1])
def test_what_is_kept_is_uniform(stored: dict[str, list[np.ndarray]], role: str, kind: int) -> None:
    counts = np.bincount(stored[role][kind], minlength=256)
    expected = counts.sum() / 256
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert LEAST < chi2.sf(statistic, 255) < 1.0 - LEAST


@pytest.mark.parametrize("role", ROLES)
def test_two_inputs_cannot_be_told_apart(stored: dict[str, list[np.ndarray]], role: str) -> None:
    assert len(stored[role][0]) == len(stored[role][1])
    table = [np.bincount(kept, minlength=256) for kept in stored[role]]
    assert chi2_contingency(table).pvalue > LEAST


def test_a_million_words_were_looked_at(stored: dict[str, list[np.ndarray]]) -> None:
    words = sum(kept.size // 4 for kept in stored[LEADER])
    assert words >= 10**6
    assert all(kept.size == REPORTS * 32 for kept in stored[HELPER])


@pytest.fixture(scope="module")
def lengths(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, set[int]]]:
    """Of all that is said over the broker about reports of nothing, and of much, by topic."""
    much = np.random.default_rng(2).integers(-(10**6), 10**6, WIDTH)
    found: list[dict[str, set[int]]] = []
    for kind, values in enumerate((np.zeros(WIDTH, np.int64), much)):
        two = Two(tmp_path_factory.mktemp(f"said-{kind}"), TASK, seeded=False)
        said: dict[str, set[int]] = {}
        for i in range(20):
            raw = sealed(TASK, f"device-{i:02d}", values)
            said.setdefault("report", set()).add(len(raw))
            two.send(f"device-{i:02d}", raw)
        two.tick()
        for role in (HELPER, LEADER):  # the proposal, then the answer
            other = LEADER if role == HELPER else HELPER
            (spoken,) = two.lines[other]
            two.lines[other] = []
            said[f"cohort/{other}"] = {len(spoken.payload)}
            two.give(role, spoken.topic, spoken.payload)
        assert len(two.opened()) == 1
        for told in two.told:
            if "/receipt/" in told.topic:
                said.setdefault("receipt", set()).add(len(told.payload))
        found.append(said)
    return found


def test_no_message_is_longer_or_shorter_for_what_is_in_it(
    lengths: list[dict[str, set[int]]],
) -> None:
    nothing, much = lengths
    assert set(nothing) == {"report", "receipt", "cohort/leader", "cohort/helper"}
    assert len(nothing["report"]) == 1
    assert nothing == much
