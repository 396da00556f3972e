"""`fsir-agent page`: what is refused before anything is shown."""

from __future__ import annotations

import socket

import pytest

from edge_agent.cli import main
from edge_agent.commands import page


def test_other_machines_need_a_token(lived, capsys):
    for where in ("0.0.0.0:0", "[::]:0", "192.0.2.7:80"):
        assert main(["page", "--state", str(lived), "--listen", where]) == 2
        assert "give --token-file FILE" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["8765", "localhost", "127.0.0.1:", "127.0.0.1:99999", ":80"])
def test_an_address_that_is_none(lived, where, capsys):
    assert main(["page", "--state", str(lived), "--listen", where]) == 2
    assert "give HOST:PORT, for example 127.0.0.1:8765" in capsys.readouterr().err


def test_a_port_that_is_taken(lived, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        assert main(["page", "--state", str(lived), "--listen", where]) == 2
    assert "choose another port, or stop what uses it" in capsys.readouterr().err


def test_no_state_no_page(tmp_path, capsys):
    assert main(["page", "--state", str(tmp_path)]) == 2
    assert "has an agent run with this --state?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([], "the page of device dev-1: http://127.0.0.1:"),
        (["--token-file", "token"], "?token=TOKEN (once in each browser)"),
    ],
)
def test_what_to_open_is_said_and_the_token_is_not(
    lived, tmp_path, monkeypatch, capsys, more, expected
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(page.PageServer, "serve", lambda server: server.server_close())
    words = ["page", "--state", str(lived), "--listen", "127.0.0.1:0", *more]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert expected in said
    if more:
        assert (tmp_path / "token").read_text().strip() not in said
