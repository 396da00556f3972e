"""Every way in which a name of an enrolled device is written down; mistakes have their lines."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.enrolment.names import enrolled
from fsir.errors import FsirError
from tests.deploy.tools import Authority

NAMES = st.lists(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True), max_size=20)


@settings(deadline=None)
@given(NAMES)
def test_a_list_gives_every_name_once_in_its_order(names: list[str]) -> None:
    found = enrolled([f"  {name}\r\n" for name in names], 0.0)
    assert found.names == tuple(dict.fromkeys(names))
    assert found.left_out == ()
    assert {name: len(lines) for name, lines in found.repeated.items()} == {
        name: names.count(name) for name in names if names.count(name) > 1
    }


@settings(deadline=None)
@given(st.lists(st.text(max_size=100), max_size=10))
def test_any_text_gives_names_or_a_mistake_with_its_line(lines: list[str]) -> None:
    told = ""
    names: tuple[str, ...] = ()
    try:
        names = enrolled(lines, 0.0).names
    except FsirError as error:
        told = str(error)
    assert len(set(names)) == len(names)
    assert told == "" or (told.startswith("line ") and len(told) < 1500)


def test_mistakes_are_told_with_their_lines_and_not_without_end() -> None:
    lines = ["good", "", "# comment", "two words", "a/b", *["x" * 65] * 50]
    with pytest.raises(
        FsirError, match=r"line 4: 'two words', line 5: 'a/b', .*and 47 more"
    ) as told:
        enrolled(lines, 0.0)
    assert "1 to 64 letters" in str(told.value)


def test_what_provision_prints_and_its_book_say_the_same(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.server("localhost")
    authority.aggregator()
    for name in ("pi-01", "pi-02", "pi-03"):
        authority.device(name)
    authority("revoke", "pi-02")
    authority("revoke", "pi-03")
    authority.device("pi-03")  # a new one
    authority.device("pi-01", "--renew")
    now = time.time()
    printed = enrolled(authority("list").stdout.split("\n"), now)
    book = enrolled((authority.pki / "index.txt").read_text().split("\n"), now)
    assert printed == book
    assert set(book.names) == {"pi-01", "pi-03"}
    assert book.left_out == ("pi-02",)
    assert book.repeated == {}  # renewals are no repetitions
    later = enrolled((authority.pki / "index.txt").read_text().split("\n"), now + 826 * 86400)
    assert later.names == ()
