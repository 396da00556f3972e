"""`fsir-agent page`: the owner's page, in a browser of the home."""

from __future__ import annotations

import argparse
import ipaddress
import socket
import sys
from contextlib import closing
from pathlib import Path

from edge_agent.commands.settings.options import add_policy, add_state
from edge_agent.consent.policy import policy_of
from edge_agent.page.access import Access
from edge_agent.page.owner import Owner
from edge_agent.page.server import PageServer
from edge_agent.state.state import State
from fsir.errors import ConnectionSettingsError
from fsir.net.systemd import ready
from fsir.net.web.token import token_of

PAGE = {
    "description": """\
Show what this device knows, gives away and has given away, in a browser: what you are doing, \
buttons to say so,
each task with what leaves for it and when, and the budget. It works whether or not the agent \
runs, loads nothing from
elsewhere, and sends nothing out.

  fsir-agent page --state DIR       for browsers on this device
  fsir-agent page --state DIR --listen 0.0.0.0:8765 --token-file FILE      for your home

For your home the address with the token is opened once in each browser. The connection is not \
encrypted: whoever can
listen in on your network can see the page.
"""
}
DEFAULT = "127.0.0.1:8765"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--state, --listen and --token-file."""
    add_state(parser)
    parser.add_argument(
        "--listen", default=DEFAULT, metavar="HOST:PORT", help="where (default %(default)s)"
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help="let in only who has opened the address with this token; made if it is missing",
    )
    add_policy(parser)


def run(args: argparse.Namespace) -> int:
    """Show the page until somebody says stop."""
    host, port = place(args.listen)
    local = is_local(host)
    if not local and args.token_file is None:
        raise ConnectionSettingsError(
            f"--listen {args.listen}: everybody in your network could open the page; give "
            "--token-file FILE, which is made if it is missing, or listen on 127.0.0.1"
        )
    with closing(State(args.state, None, read_only=True)) as state:
        device = state.device
    policy = policy_of(args.policy)
    token = None if args.token_file is None else token_of(args.token_file, "--token-file")
    owner = Owner(Path(args.state), policy, named=args.policy is not None)
    try:
        server = PageServer(host, port, owner, Access(token, local=local))
    except OSError as error:
        raise ConnectionSettingsError(
            f"--listen {args.listen}: {error.strerror or error}; choose another port, "
            "or stop what uses it"
        ) from None
    print(f"the page of device {device}: {_address(server, host, token)}", flush=True)
    ready()
    server.serve()
    return 0


def place(address: str) -> tuple[str, int]:
    """Host and port of HOST:PORT.

    >>> place("[::1]:8765"), place("0.0.0.0:80")
    (('::1', 8765), ('0.0.0.0', 80))
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ConnectionSettingsError(
            f"--listen {address!r}: give HOST:PORT, for example {DEFAULT}"
        )
    return host.strip("[]"), int(port)


def is_local(host: str) -> bool:
    """Whether nobody outside of this machine can connect to an address.

    >>> is_local("127.0.0.1"), is_local("::1"), is_local("0.0.0.0"), is_local("192.0.2.7")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _address(server: PageServer, host: str, token: str | None) -> str:
    """What to open; the token is for the eyes of the owner, and not for a log."""
    everywhere = host in ("0.0.0.0", "::")
    name = socket.gethostname() if everywhere else f"[{host}]" if ":" in host else host
    url = f"http://{name}:{server.port}/"
    if token is None:
        return url
    if sys.stdout.isatty():
        return f"{url}?token={token} (once in each browser; afterwards {url})"
    return f"{url}?token=TOKEN (once in each browser), where TOKEN stands in --token-file"
