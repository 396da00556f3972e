"""Why TLS failed, in words: the cause and the remedy."""

from __future__ import annotations

import ssl

_OURS = "the broker does not accept this device's certificate: it"
# What the broker tells us about our certificate, by the end of OpenSSL's name for it.
_ALERTS = {
    "CERTIFICATE_REVOKED": f"{_OURS} was revoked. Ask whoever runs the broker why, and for another one (--cert, --key)",
    "CERTIFICATE_EXPIRED": f"{_OURS} has expired, or the broker's list of revoked ones has. Renew what is too old, and "
    "check the clock of the broker",
    "UNKNOWN_CA": f"{_OURS} is not from an authority that the broker knows. Give the certificate that was made for "
    "this broker (--cert, --key)",
    "UNSUPPORTED_CERTIFICATE": f"{_OURS} was not made for devices. Give the one that was (--cert, --key)",
    "BAD_CERTIFICATE": f"{_OURS} is damaged, or not valid yet. Check --cert, and the clock of the broker",
    "CERTIFICATE_UNKNOWN": f"{_OURS} is of no use there. Check --cert",
    "CERTIFICATE_REQUIRED": "the broker lets nobody in without a certificate; give one with --cert and --key",
    "HANDSHAKE_FAILURE": "the broker and this device cannot agree; it may ask for a certificate (--cert and --key)",
    "PROTOCOL_VERSION": "the broker speaks other versions of TLS than this device; update the older of the two",
}


class TellingSocket(ssl.SSLSocket):
    """A socket that remembers why it failed.

    With TLS 1.3 the broker looks at our certificate after we have finished our part of the handshake: what it thinks of
    it comes with the first read, inside of the client library, which keeps it to itself.
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


def explain(error: Exception) -> str:
    """What to tell the owner of the device."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"this device does not accept the broker's certificate: {error.verify_message}. Check --ca (the authority "
            "of the broker), the host in --broker, and the clock of this device"
        )
    reason = getattr(error, "reason", None) or ""
    return next((words for end, words in _ALERTS.items() if reason.endswith(f"ALERT_{end}")), str(error))
