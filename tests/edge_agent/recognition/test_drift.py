"""Watches over one stream of numbers, and where classes usually lie."""

from __future__ import annotations

import numpy as np

from edge_agent.recognition.drift import REFERENCE, Places, Watch


def test_a_watch_survives_a_restart_and_a_spread_of_nothing():
    watch = Watch()
    for _ in range(200):
        watch.update(3)
    again = Watch(bytes(watch.values))
    assert any(again.update(250) for _ in range(100))
    places = Places()
    for _ in range(REFERENCE):
        assert places.distance(np.zeros(2), "a") is None
    assert places.distance(np.zeros(2), "a") == 0.0
