"""Why TLS failed, in words: the cause and the remedy."""

from __future__ import annotations

import contextlib
import ssl
from typing import TYPE_CHECKING

from fsir.net.certificates import clock

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_OURS = "the broker does not accept our certificate: it"
# What the broker tells us about our certificate, by the end of OpenSSL's name for it.
_ALERTS = {
    "CERTIFICATE_REVOKED": (
        f"{_OURS} was revoked. Ask whoever runs the broker why, and for another one (--cert, --key)"
    ),
    "CERTIFICATE_EXPIRED": (
        f"{_OURS} has expired, or the broker's list of revoked ones has. "
        "Renew what is too old, and check the clock of the broker"
    ),
    "UNKNOWN_CA": (
        f"{_OURS} is not from an authority that the broker knows. "
        "Give the certificate that was made for this broker (--cert, --key)"
    ),
    "UNSUPPORTED_CERTIFICATE": (
        f"{_OURS} was not made for clients. Give the one that was (--cert, --key)"
    ),
    "BAD_CERTIFICATE": (
        f"{_OURS} is damaged, or not valid yet. Check --cert, and the clock of the broker"
    ),
    "CERTIFICATE_UNKNOWN": f"{_OURS} is of no use there. Check --cert",
    "CERTIFICATE_REQUIRED": (
        "the broker lets nobody in without a certificate; give one with --cert and --key"
    ),
    "HANDSHAKE_FAILURE": (
        "the broker and we cannot agree; it may ask for a certificate (--cert and --key)"
    ),
    "PROTOCOL_VERSION": (
        "the broker speaks other versions of TLS than we do; update the older of the two"
    ),
}


class TellingSocket(ssl.SSLSocket):
    """A socket that remembers why it failed.

    With TLS 1.3 the broker looks at our certificate after we have finished our part of the
    handshake: what it thinks of it comes with the first read, inside of the client library, which
    keeps it to itself. If it has hung up by the time of our first write, its words still wait to be
    read.
    """

    trouble: ssl.SSLError | None = None

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Read, and remember the error if there is one."""
        try:
            return super().recv(buflen, flags)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            self.trouble = error
            raise

    def send(self, data: ReadableBuffer, flags: int = 0) -> int:
        """Write; if nobody listens any more, remember what was said last."""
        try:
            return super().send(data, flags)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except OSError:
            with contextlib.suppress(OSError):
                self.recv()
            raise


def explain(error: Exception) -> str:
    """What to tell the owner of this machine about an error that is not about the broker's name."""
    reason = getattr(error, "reason", None) or ""
    known = (words for end, words in _ALERTS.items() if reason.endswith(f"ALERT_{end}"))
    return next(known, str(error))


def is_hung_up(error: Exception) -> bool:
    """Whether somebody took our call, and may not speak TLS: it has not objected in its words."""
    if isinstance(error, ssl.SSLError):
        return "ALERT" not in (error.reason or "")
    silent = isinstance(error, TimeoutError) and "handshake" in str(error)
    return silent or isinstance(error, ConnectionResetError | ConnectionAbortedError)


# What OpenSSL finds in a certificate, by its number.
EXPIRED = 10
NOT_YET_VALID = 9
OTHER_NAME = (62, 64)  # host name, address
_UNKNOWN_AUTHORITY = (18, 19, 20, 21)


def unacceptable(
    error: ssl.SSLCertVerificationError, ca: str | None, host: str, names: str, prefix: str
) -> str:
    """Why we do not accept a broker's certificate, which is for these `names`."""
    if error.verify_code in OTHER_NAME:
        why = (
            f"it is for {names or 'another name'}, not for {host}. Give the name in it "
            f"with --{prefix}broker, or have one made for this name"
        )
    elif error.verify_code in _UNKNOWN_AUTHORITY and ca is None:
        why = (
            "it is not from an authority that this machine knows. "
            f"Give the certificate of the one that signed it with --{prefix}ca"
        )
    elif error.verify_code in _UNKNOWN_AUTHORITY:
        why = (
            f"it is not from the authority of --{prefix}ca {ca}. "
            "Give the certificate of the one that signed it"
        )
    elif error.verify_code == EXPIRED:
        why = f"it has expired, or its authority has. Renew it, or set the clock. {clock()}"
    elif error.verify_code == NOT_YET_VALID:
        why = f"it is not valid yet. Set the clock. {clock()}"
    else:
        why = f"{error.verify_message}. Ask whoever runs the broker"
    return f"we do not accept the broker's certificate: {why}"
