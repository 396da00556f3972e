"""`termux:`: windows of a phone's own sensors, and everything that goes wrong is said once."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import closing, contextmanager

import numpy as np
import pytest

from edge_agent.errors import SourceError
from edge_agent.records import START
from edge_agent.signal.track import MAX_SAME_SECONDS
from edge_agent.signal.windows import Windower
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.sources.termux import watcher
from tests.edge_agent.motion import until

OPTIONS = Options(acc_range=8.0, gyro_range=35.0)
ADDRESS = "termux:accelerometer+gyroscope"


@contextmanager
def started(address=ADDRESS):
    """The source, its samples and the records it has made, as they come."""
    with closing(open_source(address, OPTIONS)) as source:
        source.resume(START)
        source.seen = []
        take = source._take

        def record(samples):
            source.seen.append(samples)
            take(samples)

        source._take = record
        yield source


def come(source, enough, seconds=120.0):
    """Poll until there is enough of something."""
    records = []
    deadline = time.monotonic() + seconds
    while not enough(records):
        assert time.monotonic() < deadline, source._reader.tally.counts
        records += source.poll(16)
        time.sleep(0.05)
    return records


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("termux:accelerometer", "write termux:accelerometer[+]gyroscope"),
        ("termux:+gyroscope", "write termux:accelerometer[+]gyroscope"),
        ("termux:a,b+c", "write termux:accelerometer[+]gyroscope"),
        (ADDRESS, "there is no termux-sensor here; in Termux on a phone: pkg install termux-api"),
    ],
)
def test_mistakes_are_named(monkeypatch, tmp_path, address, fault):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match=fault):
        open_source(address, OPTIONS)


def test_the_full_scale_must_be_given(phone):
    with pytest.raises(SourceError, match="--acc-range"):
        open_source(ADDRESS, Options())


def test_nothing_runs_before_it_is_resumed_and_nothing_stays(phone):
    with closing(open_source(ADDRESS, OPTIONS)) as source:
        assert phone.calls() == []
        assert source.unit_records == 3
    assert phone.calls() == []


@pytest.mark.long
def test_a_fast_phone_gives_windows(phone):
    """How many are lost where the machine of the test is busy is no matter here."""
    with started() as source:
        records = come(source, lambda records: len(records) >= 3)
    ordinals = [record.position.ordinal for record in records]
    assert ordinals == sorted(set(ordinals))
    assert {record.fault for record in records} == {""}
    acc = np.concatenate([samples.acc for samples in source.seen])
    assert abs(np.median(acc[:, 2]) - 1.0) < 0.1  # g, where the phone says m/s^2
    calls = phone.calls()
    assert calls[0] == "-s accelerometer,gyroscope -d 10 -n 60"
    assert "-s accelerometer,gyroscope -d 10" in calls
    assert calls[-1] == "-c"


def test_a_slow_phone_gives_no_records_and_is_told_why(phone, caplog):
    phone.behave(rate=15.0)
    with started() as source:
        come(source, lambda _: "trials in vain" in caplog.text)
        assert source.seen == []
    assert "too few readings a second, and 50 Hz windows need 45" in caplog.text
    assert re.search(r"in the last one accelerometer 1\d, gyroscope 1\d\)", caplog.text)
    assert "-s accelerometer,gyroscope -d 10" not in phone.calls()


@pytest.mark.long
def test_once_another_app_asks_for_more_it_begins(phone, caplog):
    phone.behave(rate=15.0)
    with started() as source:
        come(source, lambda _: "trials in vain" in caplog.text)
        phone.behave(rate=104.0)
        come(source, lambda _: bool(source.seen))


@pytest.mark.long
def test_readings_of_a_trial_are_in_no_record(phone, monkeypatch):
    """Whether there are records must not depend on what is in them."""
    monkeypatch.setattr(watcher, "TRIAL_AGAIN_SECONDS", 0.6)
    with started() as source:
        come(source, lambda _: sum("-n" in call for call in phone.calls()) >= 3)
    times = np.concatenate([samples.times for samples in source.seen])
    gaps = np.diff(times)
    assert (gaps > 0.4).sum() >= 1  # a trial of 0.6 s lies in each


@pytest.mark.long
@pytest.mark.parametrize(
    ("manner", "said"),
    [
        ({"hangs": True}, "1 times nothing came from termux-sensor, which waits for the app"),
        ({"names": ["Barometer"]}, "1 times termux-sensor knew no such sensor"),
        ({"names": ["An Accelerometer"]}, "does not give readings of both sensors"),
        ({"empty": 10**9}, "Android gives none to apps in the background"),
        ({"silent_after": 0.3}, "1 times termux-sensor fell silent and was started anew"),
        ({"ends_after": 0.3}, "1 times termux-sensor ended and was started anew"),
    ],
)
def test_what_goes_wrong_is_said_and_tried_again(phone, caplog, manner, said):
    phone.behave(**manner)
    with started() as source:
        come(source, lambda _: said in caplog.text)
        phone.behave()
        before = len(source.seen)
        come(source, lambda _: len(source.seen) > before + 2)
    assert "-c" in phone.calls()


def test_garbage_is_said_and_costs_nothing_else(phone, caplog):
    phone.behave(garbage_at=[10, 20], garbage="Connection refused")
    with started() as source:
        come(source, lambda _: len(source.seen) >= 8)
    assert "1 lines of termux-sensor that are no readings" in caplog.text
    assert "the last one 'Connection refused'" in caplog.text


def test_nothing_of_it_is_left_behind(phone):
    """Also if it does not listen to a signal, as a script does whose helper waits."""
    phone.behave(hangs=True)
    with started() as source:
        until(lambda: bool(phone.calls()), 10)
        (process,) = [
            int(entry)
            for entry in os.listdir("/proc")
            if entry.isdigit() and _is_ours(entry, phone)
        ]
    source.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, signal.SIGCONT)


def _is_ours(process, phone):
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return str(phone._folder).encode() in file.read()
    except OSError:
        return False


# --- what one reading can change: the proof of `unit_records` -------------------------------------


def windows_of(times, acc, gyro):
    windower = Windower(0, 8.0, 35.0)
    return {
        window.index: (window.fault, window.signals.tobytes())
        for window in windower.push(times, acc, gyro)
    }


@pytest.mark.parametrize("held", [0.02, 0.06, 0.12, 0.13, 0.15, 0.5, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_one_reading_however_long_it_is_printed_changes_at_most_three_records(held, seed):
    """Prints every 10 ms, readings every 20 ms, and one that is held: on borders, and anywhere."""
    rng = np.random.default_rng(seed)
    times = 1_750_000_000 - 1_750_000_000 % 1.28 + np.arange(2000) * 0.01 + 0.003
    number = np.arange(len(times)) // 2
    acc = rng.normal(size=(2000, 3))[number] * 0.3
    gyro = rng.normal(size=(2000, 3))[number]
    border = times[0] + 1.28 * 5 - 0.003
    start = border + (rng.uniform(-held, 0.0) if seed % 2 else rng.uniform(-2, 2))
    during = (times >= start) & (times < start + held)
    long = np.ptp(times[during]) > MAX_SAME_SECONDS
    worlds = []
    for reading in (rng.normal(size=3), rng.normal(size=3), acc[during][0], acc[~during][-1]):
        changed = acc.copy()
        changed[during] = reading
        worlds.append(windows_of(times, changed, gyro))
    assert len({tuple(sorted(world)) for world in worlds}) == 1  # the same windows are offered
    for one in worlds:
        for two in worlds:
            differ = [index for index in one if _content(one[index]) != _content(two[index])]
            assert len(differ) <= (2 if long else 3)
            assert long or not differ or differ[-1] - differ[0] < 3


def _content(window):
    """Null is null, whatever the reason."""
    fault, signals = window
    return b"" if fault else signals
