"""What cannot be written is a mistake of the command line, said before the work where it can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsir.errors import FsirError
from fsir.net.files import writable_folder, writing


def test_the_option_the_place_and_the_reason_are_named(tmp_path: Path) -> None:
    place = tmp_path / "none" / "table.csv"
    with pytest.raises(FsirError) as caught, writing("--output", place):
        place.write_text("1,2")
    assert str(caught.value) == (
        f"--output {place}: No such file or directory; "
        "give a place that can be written and has room"
    )


def test_who_reads_no_more_has_seen_enough() -> None:
    with pytest.raises(BrokenPipeError), writing("--output", "-"):
        raise BrokenPipeError


def test_a_folder_is_made_and_left_empty(tmp_path: Path) -> None:
    folder = writable_folder("--out", tmp_path / "a" / "b")
    assert list(folder.iterdir()) == []
    assert writable_folder("--out", folder) == folder


def test_a_file_where_a_folder_should_be_is_found_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(FsirError, match=r"--out .*file"):
            writable_folder("--out", place)
