"""Fixtures shared by all tests: where the real data are, and a broker of one's own."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sim_devices.network.broker import LocalBroker
from tests.browser import chromium, tab
from tests.needs import IN_CI, need, not_tested
from tests.postgres import postgres

__all__ = ["chromium", "postgres", "tab"]  # fixtures

REAL_DATA = (
    "uci_har/har_full561.npz",
    "uci_har/har_inertial.npz",
    "uci_layout",
    "hapt/hapt_raw.npz",
    "bodyfat.csv",
)

# How long the drawing of examples takes says how busy the machine is, and nothing of the property.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("patient", _PATIENT)
# What lands is decided by the same examples each time; everybody else's runs look for new ones.
settings.register_profile("ci", _PATIENT, derandomize=True)
settings.load_profile("ci" if IN_CI else "patient")


def pytest_configure() -> None:
    """Let programs that tests start be stopped by Ctrl-C.

    What a shell has put into the background ignores it, and so do all children.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _quiet_again() -> Iterator[None]:
    """A program that a test runs in this process sets the level of all logs: for itself alone."""
    root = logging.getLogger()
    before = root.level
    yield
    root.setLevel(before)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets: FSIR_DATA, or shared/data beside the repository.

    They are never committed.
    """
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("FSIR_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(
            f"NOT TESTED on real data: there is no folder {folder}; "
            "set FSIR_DATA to where the data sets are"
        )
    missing = [name for name in REAL_DATA if not (folder / name).is_file()]
    if missing:
        # Someone set this machine up to test on real data: a hole in it must not pass as a skip.
        not_tested(
            f"the data folder {folder} lacks {', '.join(missing)}: "
            "complete it, or set FSIR_DATA to another"
        )
    return folder


@pytest.fixture
def mosquitto() -> Iterator[LocalBroker]:
    """A mosquitto of this test alone, on a free loopback port; `restart` keeps its memory."""
    need("mosquitto")
    with LocalBroker() as broker:
        broker.start("mosquitto")
        yield broker


@pytest.fixture
def mosquitto_url(mosquitto: LocalBroker) -> str:
    return mosquitto.url


@pytest.fixture
def embedded_url() -> Iterator[str]:
    """The embedded broker in a child process of this test alone."""
    with LocalBroker() as broker:
        yield broker.start("embedded")
