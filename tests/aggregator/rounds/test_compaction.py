"""Old rounds without their bytes: counted all the same, once, and no more to be taken out."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from aggregator import merging
from aggregator.cli import main
from aggregator.core import Aggregator
from aggregator.rounds.compaction import compact
from aggregator.rounds.recount import agrees
from fsir.privacy.plan import FINAL
from tests.aggregator.batches import started, verdict_of
from tests.aggregator.federations import topic
from tests.aggregator.rounds.made import DEVICES, ROUNDS, TASK, counted, raw


@pytest.fixture
def aggregator(tmp_path: Path) -> Aggregator:
    """All rounds of all devices, but the last one of the last."""
    made = started(tmp_path / "s.db", TASK, debounce=0.0)
    for device, round in product(range(DEVICES), range(1, ROUNDS + 1)):
        if (device, round) != (DEVICES - 1, 2):
            made.take(topic(TASK, f"d{device}"), raw(device, round))
    made.commit(1.0)
    return made


def test_what_is_compacted_stays_counted_and_is_not_counted_again(aggregator: Aggregator) -> None:
    federation = aggregator.federations["test"]
    before = counted(aggregator.store)
    found = compact(aggregator.store, federation, 2)
    size = sum(len(raw(d, r)) for d, r in product(range(DEVICES), range(1, 5)))
    assert found == (4 * DEVICES - 1, size - len(raw(DEVICES - 1, 2)), 5)
    assert counted(aggregator.store) == before
    assert agrees(aggregator.store, federation, FINAL)
    assert verdict_of(aggregator, topic(TASK, "d0"), raw(0, 1)).status == "duplicate"
    late = verdict_of(aggregator, topic(TASK, f"d{DEVICES - 1}"), raw(DEVICES - 1, 2))
    assert late.status == "counted"
    assert aggregator.store.patterns(1, FINAL) == {"1-6": DEVICES}
    assert agrees(aggregator.store, federation, FINAL)
    assert compact(aggregator.store, federation, 2).reports == 1
    assert compact(aggregator.store, federation, 2).reports == 0


def test_a_withdrawal_takes_out_what_it_can_and_comes_back_exactly(aggregator: Aggregator) -> None:
    federation = aggregator.federations["test"]
    before = counted(aggregator.store)
    compact(aggregator.store, federation, 2)
    assert aggregator.withdraw("d0", 2.0) == 2
    assert aggregator.store.compacted(1, FINAL, "d0") == [1, 2, 3, 4]
    assert aggregator.store.patterns(1, FINAL) == {"1-6": 2, "1-4": 1, "1,3-6": 1}
    assert agrees(aggregator.store, federation, FINAL)
    kept = {(row.device, row.round): row.raw for row in aggregator.store.reports(1)}
    assert kept["d0", 4] == b""  # compacted
    assert kept["d0", 5] is None  # withdrawn
    assert merging.readmit(aggregator.store, federation, "d0") == 2
    assert verdict_of(aggregator, topic(TASK, "d0"), raw(0, 4)).status == "duplicate"
    for round in (6, 5):
        assert verdict_of(aggregator, topic(TASK, "d0"), raw(0, round)).status == "counted"
    assert counted(aggregator.store) == before


def test_totals_that_are_wrong_are_seen_where_bytes_are_left(aggregator: Aggregator) -> None:
    federation = aggregator.federations["test"]
    compact(aggregator.store, federation, 2)
    good = aggregator.store.totals(1, FINAL, 5)
    with aggregator.store.transaction():
        aggregator.store.put_totals(1, FINAL, aggregator.store.totals(1, FINAL, 6), 5)
    assert not agrees(aggregator.store, federation, FINAL)
    with aggregator.store.transaction():
        aggregator.store.put_totals(1, FINAL, good, 5)
        aggregator.store.put_taken(1, FINAL, {"d0": ("1-6", "1-5")})
    assert not agrees(aggregator.store, federation, FINAL)


def test_the_commands_say_what_is_dropped_and_from_when_on_a_device_leaves(
    aggregator: Aggregator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aggregator.store.close()
    store = ["--store", f"sqlite:{tmp_path / 's.db'}"]
    assert main(["compact", "--keep", "2", *store]) == 0
    assert "of 15 report(s) dropped; bytes are kept from round 5 on" in capsys.readouterr().out
    assert main(["compact", "--keep", "2", "--json", *store]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["compacted"]["test"] == {"reports": 0, "bytes": 0, "since": 5}
    assert main(["withdraw", "d0", *store]) == 0
    assert "2 report(s) taken out, from round 5 on: rounds before" in capsys.readouterr().out
    assert main(["withdraw", "d1", "--json", *store]) == 0
    assert json.loads(capsys.readouterr().out)["since_round"] == {"test": 5}
    assert main(["status", "--recount", *store]) == 0
    shown = capsys.readouterr().out
    assert "final: 4 devices" in shown
    assert "the stored reports add up to it" in shown
    assert "rounds: 6 of 6; devices in round 3: 4, round 4: 4, round 5: 2, round 6: 2" in shown
    assert main(["compact", "--keep", "0", *store]) == 2
    assert "--keep 0" in capsys.readouterr().err
