"""The names and addresses of this machine: a site's name may be made to lead here."""

from __future__ import annotations

import ipaddress
import socket


class Hosts:
    """Where a page may be asked for; `local`: only this machine can reach it."""

    def __init__(self, *, local: bool) -> None:
        self._local = local
        self._names = {"localhost"}
        if not local:
            own = socket.gethostname().lower()
            self._names |= {own, f"{own.partition('.')[0]}.local"}

    def known(self, header: str | None) -> bool:
        """Whether the address in the browser, as the Host header has it, is one of this machine.

        An address in numbers cannot be made to lead elsewhere; of names only our own will do.
        """
        host = host_of(header or "")
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return host in self._names
        return is_loopback(host) or not self._local


def host_of(header: str) -> str:
    """The host of a Host header, without its port.

    >>> [host_of(header) for header in ("Pi:8765", "[::1]:8765", "127.0.0.1")]
    ['pi', '::1', '127.0.0.1']
    """
    host = header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def is_loopback(address: str) -> bool:
    """Whether an address is that of this machine for itself.

    >>> [is_loopback(address) for address in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1")]
    [True, True, True, False]
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)
