"""A secret in a file that opens a page, and proofs that do not give it away."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

from fsir.errors import ConnectionSettingsError

_SHORTEST = 16  # characters


def token_of(path: str, option: str) -> str:
    """The token in a file, which is made if it is missing."""
    place = Path(path).expanduser()
    try:
        if not place.exists():
            _make(place)
        token = place.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConnectionSettingsError(
            f"{option} {path}: {error}; give a file of your own"
        ) from None
    if len(token) < _SHORTEST or not all(sign.isalnum() or sign in "-_" for sign in token):
        raise ConnectionSettingsError(
            f"{option} {path}: the token must be at least {_SHORTEST} letters, digits, "
            "'-' or '_'; delete the file, and a good one is made"
        )
    return token


def _make(place: Path) -> None:
    """For its owner alone, from the first moment on."""
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(f"{secrets.token_urlsafe(24)}\n")


def same(one: str, other: str) -> bool:
    """Whether two secrets are the same, in a time that does not tell how far they are."""
    return hmac.compare_digest(one.encode("utf-8", "surrogateescape"), other.encode())


def proof_of(token: str) -> str:
    """What a cookie holds: not the token itself, which opens other browsers too."""
    return hmac.new(token.encode(), b"cookie", hashlib.sha256).hexdigest()


def cookie_in(header: str | None, name: str) -> str:
    """A cookie of a request, or nothing."""
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(header or "")
    except CookieError:
        return ""
    return jar[name].value if name in jar else ""
