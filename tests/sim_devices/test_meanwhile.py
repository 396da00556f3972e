"""What is worked out meanwhile is what would have been worked out here."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from sim_devices import meanwhile
from sim_devices.meanwhile import Meanwhile, loading, may_fork


@pytest.fixture(params=[True, False], ids=["forked", "here"])
def forks(request, monkeypatch):
    if request.param and sys.platform != "linux":
        pytest.skip("forks are safe on Linux alone")
    monkeypatch.setattr(meanwhile, "may_fork", lambda: request.param)
    return request.param


def test_the_value_comes_from_another_process_where_there_can_be_one(forks):
    value, process = Meanwhile(lambda: ([1.5, "a"], os.getpid())).result()
    assert value == [1.5, "a"]
    assert (process != os.getpid()) == forks


def test_who_waits_learns_what_went_wrong(forks):
    def fails():
        raise KeyError("no such device")

    with pytest.raises(KeyError, match="no such device"):
        Meanwhile(fails).result()


def test_a_process_that_is_gone_is_replaced_by_this_one(forks):
    here = os.getpid()
    assert Meanwhile(lambda: here if os.getpid() == here else os._exit(9)).result() == here


def test_nobody_forks_beside_a_thread():
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert not may_fork()
    finally:
        ended.set()
        thread.join()


def test_modules_are_there_in_the_end_and_missing_ones_are_left_to_who_wants_them(monkeypatch):
    monkeypatch.delitem(sys.modules, "tabnanny", raising=False)
    with loading("no_such_module", "tabnanny"):
        pass
    assert "tabnanny" in sys.modules
