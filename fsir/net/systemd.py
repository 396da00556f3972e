"""Tells the service manager that a daemon is ready.

Whoever has started it may then use what it has opened.
"""

from __future__ import annotations

import os
import socket


def ready() -> None:
    """Send systemd's READY=1, for which a unit with `Type=notify` waits.

    Without a service manager do nothing.
    """
    address = os.environ.pop("NOTIFY_SOCKET", "")  # once, and not for the children of this process
    if not address:
        return
    if address.startswith("@"):  # an abstract socket: it has a name but no file
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        manager.sendto(b"READY=1", address)
