"""Who may look at the pages."""

from __future__ import annotations

from email.message import Message

import pytest

from aggregator.monitoring.access import COOKIE, Access
from fsir.net.web.token import proof_of

TOKEN = "correct-horse-battery"
HERE = "127.0.0.1:9100"


def asked(host: str | None = HERE, **headers: str) -> Message:
    message = Message()
    if host is not None:
        message["Host"] = host
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return message


def status(access: Access, headers: Message, peer: str = "127.0.0.1") -> int:
    refusal = access.refusal(headers, peer)
    return 200 if refusal is None else refusal[0]


@pytest.mark.parametrize("host", ["127.0.0.1:9100", "[::1]:9100", "localhost", "LOCALHOST:1"])
def test_on_this_machine_everybody_may_look(host: str) -> None:
    assert status(Access(), asked(host)) == 200


@pytest.mark.parametrize(
    "host", ["evil.example:9100", "127.0.0.1.evil.example", "10.0.0.7", "", None]
)
def test_a_name_that_was_made_to_lead_here_shows_nothing(host: str | None) -> None:
    assert status(Access(), asked(host)) == 421
    assert status(Access(user_header="X-User"), asked(host, X_User="mallory")) == 421


def test_in_a_network_addresses_are_known_and_strange_names_are_not() -> None:
    access = Access(user_header="X-User", local=False)
    assert status(access, asked("192.168.1.5:9100", X_User="alice")) == 200
    assert status(access, asked("evil.example:9100", X_User="alice")) == 421


def test_a_token_is_shown_by_header_or_by_the_cookie_that_it_was_changed_into() -> None:
    access = Access(token=TOKEN, local=False)
    good = [
        asked(Authorization=f"Bearer {TOKEN}"),
        asked("aggregator.example", Authorization=f"bearer  {TOKEN} "),
        asked("aggregator.example", Cookie=f"other=1; {COOKIE}={proof_of(TOKEN)}"),
    ]
    bad = [
        asked(),
        asked(Authorization=f"Bearer {TOKEN}x"),
        asked(Authorization=f"Basic {TOKEN}"),
        asked(Authorization=TOKEN),
        asked(Cookie=f"{COOKIE}={TOKEN}"),  # the token itself is no cookie
        asked(Cookie=f"{COOKIE}="),
        asked(Cookie="\x00;;="),
    ]
    assert [status(access, one, "10.0.0.9") for one in good] == [200] * len(good)
    assert [status(access, one, "10.0.0.9") for one in bad] == [401] * len(bad)


def test_a_token_logs_in_at_the_page_alone() -> None:
    access = Access(token=TOKEN)
    assert access.logs_in("/", {"token": TOKEN})
    assert not access.logs_in("/", {"token": TOKEN[:-1]})
    assert not access.logs_in("/", {"token": "ä"})
    assert not access.logs_in("/", {})
    assert not access.logs_in("/metrics", {"token": TOKEN})
    assert not Access().logs_in("/", {"token": ""})
    cookie = access.cookie()
    assert TOKEN not in cookie
    assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))


def test_a_proxy_is_believed_on_this_machine_alone() -> None:
    access = Access(user_header="X-Remote-User", local=False)
    named = asked(X_Remote_User="alice")
    assert status(access, named) == 200
    assert status(access, named, "::ffff:127.0.0.1") == 200
    assert status(access, named, "192.168.1.9") == 401
    assert status(access, asked()) == 401
    assert status(access, asked(X_Remote_User=" ")) == 401
    named["X-Remote-User"] = "mallory"  # twice: one of them is not the proxy's
    assert status(access, named) == 401
