"""Where an MQTT broker is and how to log in."""

from __future__ import annotations

import ssl
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from fsir.errors import ConnectionSettingsError
from fsir.net.tls import TellingSocket

_PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class Broker:
    """Where a broker is and how to log in; secrets stay out of every text.

    >>> str(Broker.parse("mqtts://home.example"))
    'mqtts://home.example:8883'
    """

    host: str
    port: int
    _: KW_ONLY
    tls: bool = False
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = None
    certificate: str | None = None
    key: str | None = field(default=None, repr=False)
    # Of the options that say all this, for errors: `source-` if the first one is --source-broker.
    prefix: str = ""

    def __str__(self) -> str:
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"

    @classmethod
    def parse(cls, url: str, **login: Any) -> Broker:
        """Read `mqtt://[USER@]HOST[:PORT]` or `mqtts://...`; a password comes from elsewhere."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ConnectionSettingsError(
                f"broker address: {error}; write mqtt://HOST[:PORT]"
            ) from None
        if parts.password is not None:
            raise _password_in_sight(login.get("prefix", ""))
        known = parts.scheme in _PORTS and parts.path in ("", "/") and not parts.query
        if not known or not parts.hostname:
            raise ConnectionSettingsError(
                f"broker address {url!r}: write mqtt://HOST[:PORT], "
                "or mqtts://HOST[:PORT] for an encrypted one"
            )
        tls = parts.scheme == "mqtts"
        if not tls and any(login.get(name) for name in ("ca", "certificate", "key")):
            raise ConnectionSettingsError(f"broker address {url!r}: certificates need mqtts://")
        login["username"] = login.get("username") or parts.username
        return cls(parts.hostname, port or _PORTS[parts.scheme], tls=tls, **login)

    def context(self) -> ssl.SSLContext:
        """The TLS settings."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            ours = "--ca, --cert and --key (PEM files)"
            flags = f"--{self.prefix}ca (a PEM file)" if self.prefix else ours
            raise ConnectionSettingsError(
                f"certificates of {self}: {error}; check {flags}"
            ) from None
        context.sslsocket_class = TellingSocket
        return context


def _password_in_sight(prefix: str) -> ConnectionSettingsError:
    variable = f"FSIR_{prefix.upper().replace('-', '_')}PASSWORD"
    return ConnectionSettingsError(
        "broker address: it holds a password, which others on this machine could see; "
        f"use --{prefix}password-file or the variable {variable}"
    )
