"""Who may open the page and press its buttons."""

from __future__ import annotations

import socket

import pytest

from edge_agent.page.access import Access

TOKEN = "a-token-of-enough-signs"


@pytest.mark.parametrize(
    ("host", "here", "home"),
    [
        ("localhost:8765", True, True),
        ("LOCALHOST", True, True),
        ("127.0.0.1:8765", True, True),
        ("[::1]:8765", True, True),
        ("192.168.1.5:8765", False, True),
        ("kitchen-pi:8765", False, True),
        ("kitchen-pi.local:8765", False, True),
        ("evil.example:8765", False, False),
        ("localhost.evil.example", False, False),
        ("127.0.0.1.evil.example", False, False),
        ("evil.example/@127.0.0.1", False, False),
        ("", False, False),
        (None, False, False),
    ],
)
def test_only_addresses_of_this_machine(host, here, home, monkeypatch):
    """A name of somebody else may be made to lead here (DNS rebinding)."""
    monkeypatch.setattr(socket, "gethostname", lambda: "Kitchen-Pi")
    assert Access(None, local=True).knows_host(host) is here
    assert Access(TOKEN, local=False).knows_host(host) is home


def test_the_token_opens_and_the_cookie_stays():
    access = Access(TOKEN, local=False)
    assert access.opens(TOKEN)
    assert not access.opens(TOKEN + "x")
    assert not access.opens("")
    cookie = access.cookie()
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert TOKEN not in cookie
    sent = cookie.partition(";")[0]
    assert access.admits(sent)
    assert access.admits(f"other=1; {sent}")
    assert Access(TOKEN, local=False).admits(sent)  # after a restart, too
    for wrong in (None, "", "fsir_page=", "fsir_page=x", sent[:-1], "\x00=;;", "fsir_page=\udcff"):
        assert not access.admits(wrong)
    assert not Access("another-token-of-signs", local=False).admits(sent)


def test_without_a_token_nobody_is_asked():
    access = Access(None, local=True)
    assert access.admits(None)
    assert not access.opens("")


@pytest.mark.parametrize(
    ("origin", "site", "taken"),
    [
        ("http://pi:8765", "same-origin", True),
        ("http://pi:8765", None, True),
        ("null", "same-origin", True),  # a form on a page without a referrer
        (None, None, True),
        ("http://evil.example", None, False),
        ("http://pi:9999", None, False),
        ("https://pi:8765", None, False),
        ("null", "cross-site", False),
        ("http://pi:8765", "same-site", False),
        (None, "none", False),
    ],
)
def test_a_press_comes_from_the_page_itself(origin, site, taken):
    access = Access(None, local=True)
    assert access.takes(access.csrf, "pi:8765", origin, site) is taken
    assert not access.takes("", "pi:8765", origin, site)
    assert not access.takes(Access(None, local=True).csrf, "pi:8765", origin, site)
