"""When devices report: the number of records is proposed from what devices have, or a guess."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.tasks.reports.reporting import (
    Asked,
    Guess,
    counts_in,
    fewest_records,
    least_noisy,
    planned,
)
from fsir.errors import FsirError
from fsir.privacy.accounting import free_scales, mu_of

GUESS = Guess(300, "because nobody has said")
LATER = datetime(2199, 1, 1, tzinfo=UTC)


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=40))
def test_two_devices_in_three_can_report_and_no_other_such_number_leaves_less_noise(counts):
    records = least_noisy(counts)
    reaching = {n: sum(count >= n for count in counts) for n in [*counts, records]}
    assert 3 * reaching[records] >= 2 * len(counts)
    allowed = [n for n, devices in reaching.items() if 3 * devices >= 2 * len(counts)]
    assert records**2 * reaching[records] == max(n**2 * reaching[n] for n in allowed)


def test_a_proposal_says_its_rule_and_how_many_can_report():
    reports = planned(Asked(per_device="120,300,450"), GUESS)
    assert (reports.records, reports.devices, reports.expected) == (300, 2, 300)
    assert reports.why.startswith("300: 2 of the 3 listed devices have as many (of the numbers")
    # Two reports about other records each: half of what a device has.
    twice = planned(Asked(per_device="120,300,450"), GUESS, rounds=2)
    assert (twice.records, twice.devices) == (150, 2)
    assert "have as many for each of 2 reports" in twice.why
    everybody = planned(Asked(per_device="250"), GUESS)
    assert (everybody.records, everybody.devices) == (250, None)


def test_what_was_asked_for_is_taken_and_compared_with_what_devices_have():
    reports = planned(Asked(records=400, per_device="120,300,450"), GUESS)
    assert reports.records == 400
    assert reports.why == "400, as you say; 1 of the 3 listed devices have as many"
    assert reports.devices == 1
    with pytest.raises(FsirError, match=r"--records 500: 0 of the 3 .* give at most 450"):
        planned(Asked(records=500, per_device="120,300,450"), GUESS)


def test_a_guess_is_called_one_and_says_what_to_give():
    reports = planned(Asked(), GUESS)
    assert reports.records == 300
    assert reports.why.startswith("A GUESS: 300, because nobody has said.")
    assert "--records N" in reports.why
    assert "--records-per-device" in reports.why


def test_with_a_deadline_the_number_is_the_most_of_a_report():
    reports = planned(Asked(deadline=LATER, per_device="120,300,450", sigma_0=0.5), GUESS)
    assert (reports.records, reports.devices, reports.expected) == (450, 3, 300)
    assert (reports.deadline, reports.sigma_0) == (LATER, 0.5)
    assert planned(Asked(deadline=LATER, records=99), GUESS).records == 99
    with pytest.raises(FsirError, match="say by --records at most how many"):
        planned(Asked(deadline=LATER), GUESS)


def test_tolerated_noise_stands_for_a_number():
    reports = planned(Asked(sigma_0=0.5), GUESS)
    assert reports.records is None
    with pytest.raises(FsirError, match=r"--sigma-0 0.5: .* give one of them"):
        planned(Asked(sigma_0=0.5, per_device="9"), GUESS)


def test_counts_stand_on_the_command_line_or_in_a_file(tmp_path):
    assert counts_in("120, 300;450") == [120, 300, 450]
    file = tmp_path / "counts.txt"
    file.write_text("120\n300,450\n\n")
    assert counts_in(str(file)) == [120, 300, 450]
    file.write_text("device,records\n1,120\n")
    with pytest.raises(FsirError, match="'device' is no number of records"):
        counts_in(str(file))
    file.write_text("")
    with pytest.raises(FsirError, match="is no number of records"):
        counts_in(str(file))
    file.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(FsirError, match="is no text"):
        counts_in(str(file))
    with pytest.raises(FsirError, match=r"did you mean 'counts.txt'\?"):
        counts_in(str(tmp_path / "count.txt"))
    with pytest.raises(FsirError, match="'0' is no number of records"):
        counts_in("300,0")


def test_the_noise_that_is_tolerated_is_that_of_the_rarest_slice_and_not_of_the_report():
    sd = free_scales(2.0, mu_of(1.0, 1e-6))[0]
    records = fewest_records(2.0, (1.0, 1e-6, 1), share=0.05)
    assert sd / (0.05 * records) <= 0.1 < sd / (0.05 * (records - 10))
    assert records == pytest.approx(20 * fewest_records(2.0, (1.0, 1e-6, 1), share=1.0), rel=0.1)
