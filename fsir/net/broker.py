"""Where an MQTT broker is and how to log in."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fsir.errors import ConnectionSettingsError

if TYPE_CHECKING:
    import ssl

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
        from fsir.net.certificates import client_context
        from fsir.net.tls import TellingSocket

        context = client_context(self.ca, self.certificate, self.key, self.prefix)
        context.sslsocket_class = TellingSocket
        return context

    # --- what to tell its owner -------------------------------------------------------------------

    def why(self, error: Exception) -> str:
        """Why there is no connection, and what to do about it."""
        if not self.tls:
            return str(error)
        import ssl

        from fsir.net.tls import explain, is_hung_up

        if isinstance(error, ssl.SSLCertVerificationError):
            return self._why_unacceptable(error)
        if is_hung_up(error):
            return self.hint() or explain(error)
        return explain(error)

    def hint(self) -> str:
        """Why nobody answers in MQTT where somebody takes our calls; empty if nobody knows."""
        from fsir.net import probe

        return probe.hint(self.host, self.port, self.tls)

    def _why_unacceptable(self, error: ssl.SSLCertVerificationError) -> str:
        from fsir.net import probe
        from fsir.net.tls import OTHER_NAME, unacceptable

        names = ""
        if error.verify_code in OTHER_NAME:
            names = probe.names(self.host, self.port, self.ca)
        return unacceptable(error, self.ca, self.host, names, self.prefix)


def _password_in_sight(prefix: str) -> ConnectionSettingsError:
    variable = f"FSIR_{prefix.upper().replace('-', '_')}PASSWORD"
    return ConnectionSettingsError(
        "broker address: it holds a password, which others on this machine could see; "
        f"use --{prefix}password-file or the variable {variable}"
    )
