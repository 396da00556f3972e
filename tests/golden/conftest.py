"""The golden federation as the program plays it today, once for all tests of a process."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.golden.federation.play import Play
from tests.golden.federation.tasks import SERVED
from tests.golden.files import Message, of_kind, wire_of


class Played(NamedTuple):
    """What was on the wire, the folder with what is on disks, and the play."""

    wire: list[Message]
    folder: Path
    play: Play


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Played with the golden subspaces, whose last bits machines do not agree on."""
    given: dict[str, list[bytes]] = {}
    for task in SERVED:
        for message in of_kind(wire_of(task.name), "subspace"):
            given.setdefault(message.topic, []).append(message.payload)
    folder = tmp_path_factory.mktemp("played")
    play = Play(folder, given)
    return Played(play.run(), folder, play)
