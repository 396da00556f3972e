"""A secret in a file, and what proves that somebody knows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsir.errors import ConnectionSettingsError
from fsir.net.web.token import cookie_in, proof_of, same, token_of


def test_a_missing_file_is_made_for_its_owner_alone_and_stays(tmp_path: Path) -> None:
    path = str(tmp_path / "token")
    token = token_of(path, "--token")
    assert len(token) >= 32
    assert token_of(path, "--token") == token
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert token_of(str(tmp_path / "other"), "--token") != token


@pytest.mark.parametrize("text", ["", "short", "with spaces in the middle of it", "ä" * 20])
def test_a_token_that_is_none_is_refused_with_the_remedy(tmp_path: Path, text: str) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(ConnectionSettingsError, match=r"--token .*(a good one|of your own)"):
        token_of(str(path), "--token")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectionSettingsError, match="nowhere"):
        token_of(str(tmp_path / "nowhere" / "token"), "--token")


def test_a_proof_is_not_the_token() -> None:
    assert same(proof_of("one"), proof_of("one"))
    assert not same(proof_of("one"), proof_of("two"))
    assert "one" not in proof_of("one")
    assert not same("\udcff", "one")


def test_a_cookie_is_found_among_others_or_not_at_all() -> None:
    assert cookie_in("a=1; b=2", "b") == "2"
    assert cookie_in("a=1", "b") == ""
    assert cookie_in(None, "b") == ""
    assert cookie_in("\x00=;;;", "b") == ""
