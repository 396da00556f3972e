"""The options of `fsir-aggregator serve`."""

from __future__ import annotations

import argparse

from aggregator.results.emission import DEFAULT
from fsir.net.login import add_login
from fsir.task.secure import ROLES

TOKEN_FILE = "--http-token-file"
USER_HEADER = "--http-user-header"
ROLE = "--role"
KEY = "--role-key"
WAIT = "--wait"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to serve, the login, and the manner."""
    _add_what(parser.add_argument_group("what to serve"))
    add_login(parser, "the aggregator's")
    _add_pages(parser.add_argument_group("pages"))
    manner = parser.add_argument_group("manner")
    _add_manner(manner)
    _add_logging(manner)


def _add_what(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--task",
        required=True,
        action="append",
        metavar="FILE",
        help="TOML; may be given more than once",
    )
    group.add_argument(
        "--broker",
        required=True,
        metavar="URL",
        help="mqtt://HOST[:PORT], or mqtts:// with encryption",
    )
    group.add_argument(
        "--store",
        required=True,
        metavar="sqlite:PATH",
        help="created if it does not exist; or postgresql://HOST/NAME",
    )
    group.add_argument(
        ROLE,
        choices=ROLES,
        help="which of two aggregators this is, for tasks with aggregation = 'secure'",
    )
    group.add_argument(KEY, metavar="FILE", help="its key, from `fsir-aggregator keys new`")
    group.add_argument(
        WAIT,
        type=float,
        metavar="SECONDS",
        help="as leader, open a sum only when no report has come for so long: each sum brings "
        "noise of both, so that few large ones say more than many small ones (default 0)",
    )


def _add_pages(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="serve a live page there, beside /metrics (Prometheus) and /healthz",
    )
    group.add_argument(
        TOKEN_FILE,
        metavar="FILE",
        help="show it only to who has the token in this file, which is made if it is missing: a "
        "browser opens /?token=TOKEN once, programs send Authorization: Bearer TOKEN",
    )
    group.add_argument(
        USER_HEADER,
        metavar="NAME",
        help="show it to whom a reverse proxy on this machine names in this header",
    )


def _add_manner(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--expect",
        type=int,
        metavar="N",
        help="so many devices will report: `status` and metrics tell how many are missing (a "
        "roster says it better), and when all are there, the estimate does not wait",
    )
    group.add_argument(
        "--debounce",
        type=float,
        default=2.0,
        metavar="SECONDS",
        help="re-estimate at most so often, while reports come in (default %(default)s)",
    )
    group.add_argument(
        "--emit",
        default=DEFAULT,
        metavar="RULE",
        help="publish a new subspace when the federation has grown by so much (growth:5%%), or so "
        "often (seconds:60); always the first ones, and the last when nothing more comes in "
        "(default %(default)s)",
    )
    group.add_argument(
        "--mqtt",
        choices=("auto", "5", "3.1.1"),
        default="auto",
        help="version (default %(default)s)",
    )
    group.add_argument(
        "--worker",
        metavar="NAME",
        help="MQTT client id; another one for each worker (default: one that the store keeps)",
    )
    group.add_argument(
        "--share", metavar="GROUP", help="take part in a shared subscription with other workers"
    )


def _add_logging(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--log", choices=("text", "json"), default="text", help="default: %(default)s"
    )
    group.add_argument("--log-level", default="info", choices=("debug", "info", "warning", "error"))
