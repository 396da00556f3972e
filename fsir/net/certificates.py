"""The files of a TLS login, each looked at before anybody is called: which one is wrong, and why.

What no waiting mends is an error. What a wrong clock may explain is a warning: a small device may
not know the time until it is connected.
"""

from __future__ import annotations

import logging
import ssl
import stat
import time
from pathlib import Path

from fsir.errors import ConnectionSettingsError

log = logging.getLogger("fsir.connection")
CERTIFICATE = "CERTIFICATE"
KEY = "PRIVATE KEY"
_ROUNDS = 4  # of a handshake, in which each side speaks once


def client_context(
    ca: str | None, certificate: str | None, key: str | None, prefix: str = ""
) -> ssl.SSLContext:
    """The settings of a client with these PEM files, which options named `--<prefix>ca` and so on
    give."""
    ca_flag = f"--{prefix}ca {ca}"
    if ca is not None:
        _read(ca_flag, ca, CERTIFICATE)
    try:
        context = ssl.create_default_context(cafile=ca)
    except ssl.SSLError as error:
        raise _damaged(ca_flag, error) from None
    if ca is not None:
        _warn_about_authority(ca_flag, context)
    if certificate is not None or key is not None:
        _load_own(context, certificate, key)
    return context


# --- what is in a file ----------------------------------------------------------------------------


def _read(flag: str, path: str, kind: str) -> str:
    """The text of a file that must hold something of this kind."""
    try:
        text = Path(path).read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise ConnectionSettingsError(
            f"{flag}: {error.strerror}; give a PEM file that can be read"
        ) from None
    if f"{kind}-----" in text:
        return text
    other = KEY if kind == CERTIFICATE else CERTIFICATE
    holds = f", but a {other.lower()}" if f"{other}-----" in text else ""
    raise ConnectionSettingsError(
        f"{flag}: it holds no {kind.lower()} in PEM form (-----BEGIN ... {kind}-----){holds}"
    )


def _damaged(flag: str, error: ssl.SSLError) -> ConnectionSettingsError:
    why = error.reason or error.strerror or str(error)
    return ConnectionSettingsError(f"{flag}: it is damaged ({why}); copy it anew")


# --- ours -----------------------------------------------------------------------------------------


def _load_own(context: ssl.SSLContext, certificate: str | None, key: str | None) -> None:
    if certificate is None:
        raise ConnectionSettingsError(f"--key {key}: it needs its certificate; give it with --cert")
    text = _read(f"--cert {certificate}", certificate, CERTIFICATE)
    if key is None and f"{KEY}-----" not in text:
        raise ConnectionSettingsError(f"--cert {certificate}: it needs its key; give it with --key")
    key_flag = f"--cert {certificate}" if key is None else f"--key {key}"
    if "ENCRYPTED" in (text if key is None else _read(key_flag, key, KEY)):
        raise ConnectionSettingsError(
            f"{key_flag}: the key is locked with a passphrase, which nobody is there to type; "
            "unlock it: openssl pkey -in LOCKED -out KEY, and let nobody else read the new file"
        )
    try:
        context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise _mismatch(error, certificate, key_flag) from None
    _warn_about_rights(key_flag, Path(key or certificate))
    _warn_about_certificate(certificate, key)


def _mismatch(error: ssl.SSLError, certificate: str, key_flag: str) -> ConnectionSettingsError:
    if error.reason == "KEY_VALUES_MISMATCH" or "key values mismatch" in str(error):
        return ConnectionSettingsError(
            f"{key_flag}: it is not the key of --cert {certificate}; "
            "give the two that were made together"
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(certificate)
    except ssl.SSLError as damage:
        return _damaged(f"--cert {certificate}", damage)
    return _damaged(key_flag, error)


# --- what is odd, and may be right ----------------------------------------------------------------


def _warn_about_rights(flag: str, path: Path) -> None:
    if path.stat().st_mode & stat.S_IROTH:
        log.warning(
            "%s: everybody on this machine can read the key; chmod 600 %s, and if somebody else "
            "was here, ask for a new one",
            flag,
            path,
        )


def _warn_about_authority(flag: str, context: ssl.SSLContext) -> None:
    now = time.time()
    ends = [ssl.cert_time_to_seconds(str(ca["notAfter"])) for ca in context.get_ca_certs()]
    if ends and max(ends) < now:
        log.warning("%s: the authority has expired; get its new certificate. %s", flag, clock())


def _warn_about_certificate(certificate: str, key: str | None) -> None:
    objection = _objection(certificate, key)
    if objection is not None:
        log.warning(
            "--cert %s: %s: the broker will not accept it. %s",
            certificate,
            objection.verify_message,
            clock(),
        )


def _objection(certificate: str, key: str | None) -> ssl.SSLCertVerificationError | None:
    """What OpenSSL has against a certificate that its authority would vouch for.

    It is asked by a handshake with ourselves, in memory, as a broker would be that knows this very
    certificate.
    """
    broker = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    broker.load_cert_chain(certificate, key)
    broker.load_verify_locations(certificate)
    broker.verify_mode = ssl.CERT_REQUIRED
    broker.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    device = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    device.check_hostname = False
    device.verify_mode = ssl.CERT_NONE
    device.load_cert_chain(certificate, key)
    there = ssl.MemoryBIO()
    back = ssl.MemoryBIO()
    sides = (device.wrap_bio(back, there), broker.wrap_bio(there, back, server_side=True))
    for side in sides * _ROUNDS:
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError as error:
            return error
        except ssl.SSLError:
            return None  # about something else: the broker will tell
    return None


def clock() -> str:
    """The time of this machine, for whoever wonders about a certificate."""
    return f"The clock of this machine says {time.strftime('%Y-%m-%d %H:%M')}"
