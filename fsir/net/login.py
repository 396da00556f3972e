"""The options by which a program logs in to a broker, for all programs that do."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from fsir.errors import ConnectionSettingsError
from fsir.net.broker import Broker


def add_login(parser: argparse.ArgumentParser, whose: str) -> None:
    """--username, --password-file, --ca, --cert and --key."""
    login = parser.add_argument_group("login")
    login.add_argument("--username", metavar="NAME")
    login.add_argument(
        "--password-file", metavar="FILE", help="or the environment variable FSIR_PASSWORD"
    )
    login.add_argument(
        "--ca", metavar="FILE", help="certificate of the authority that signed the broker's"
    )
    login.add_argument("--cert", metavar="FILE", help=f"{whose} certificate")
    login.add_argument("--key", metavar="FILE", help="and its key")


def broker_of(args: argparse.Namespace) -> Broker:
    """The broker of --broker, with this login."""
    return Broker.parse(
        args.broker,
        username=args.username,
        password=password(args.password_file, "FSIR_PASSWORD"),
        ca=args.ca,
        certificate=args.cert,
        key=args.key,
    )


def password(path: str | None, variable: str) -> str | None:
    """From a file or else the environment.

    Never from the command line, where everyone can read it.
    """
    if path is None:
        return os.environ.get(variable)
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConnectionSettingsError(f"password file {path}: {error}") from None
