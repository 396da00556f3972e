"""The roster: every name once for each task, however often it is put there."""

from __future__ import annotations

from aggregator.store.base import Store


def test_names_are_put_on_and_taken_off_and_counted_once(store: Store) -> None:
    with store.transaction():
        assert store.enrol("test", ["b", "a", "b"], 1.0) == 2
        assert store.enrol("test", ["a", "c"], 2.0) == 1
        assert store.enrol("other", ["a"], 2.0) == 1
    assert store.roster_size("test") == 3
    assert store.on_roster("test", -1) == ["a", "b", "c"]
    assert store.on_roster("test", 1, after="a") == ["b"]
    assert store.strike("test", ["a", "z"]) == 1
    assert store.on_roster("test", -1) == ["b", "c"]
    assert store.on_roster("other", -1) == ["a"]


def test_settings_are_kept_replaced_and_forgotten(store: Store) -> None:
    assert store.setting("expect") is None
    store.put_setting("expect", "5")
    store.put_setting("expect", "6")
    assert store.setting("expect") == "6"
    store.put_setting("expect", None)
    assert store.setting("expect") is None
