"""The owner's broker is not the task's: whoever runs that one would read what the owner does."""

from __future__ import annotations

import ipaddress
import logging
import socket
from contextlib import suppress

from fsir.errors import ConnectionSettingsError
from fsir.net.broker import Broker

log = logging.getLogger("fsir.output")
_HERE = "this machine"


def check_apart(own: Broker, of_task: Broker) -> None:
    """Refuse the task's broker by whatever name; warn where it may stand behind another port.

    Names are looked up once, now. A name that cannot be looked up is compared as it is written.
    """
    if not _places(own) & _places(of_task):
        return
    if own.port == of_task.port:
        raise ConnectionSettingsError(
            f"--output-broker {own}: this is the task's broker ({of_task}), where whoever runs it "
            "could read what you are doing; give a broker of your own"
        )
    log.warning(
        "--output-broker %s is on the same machine as the task's broker %s: if both ports belong "
        "to one broker, whoever runs it can read what you are doing",
        own,
        of_task,
    )


def _places(broker: Broker) -> set[str]:
    """All that the host of a broker is called."""
    host = broker.host.lower().rstrip(".")
    found = {_HERE if host == "localhost" else host}
    with suppress(OSError, UnicodeError):
        for *_, address in socket.getaddrinfo(host, broker.port, type=socket.SOCK_STREAM):
            found.add(_place(str(address[0])))
    return found


def _place(address: str) -> str:
    """An address in one form; those of this machine are one place.

    >>> _place("::ffff:192.0.2.7"), _place("127.0.0.53"), _place("::1")
    ('192.0.2.7', 'this machine', 'this machine')
    """
    number = ipaddress.ip_address(address.partition("%")[0])
    number = getattr(number, "ipv4_mapped", None) or number
    return _HERE if number.is_loopback or number.is_unspecified or _is_ours(number) else str(number)


def _is_ours(number: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an interface of this machine has the address: only then can a socket take it."""
    family = socket.AF_INET if number.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(number), 0))
    except OSError:
        return False
    return True
