"""The command `fsir-aggregator`."""

from __future__ import annotations

import argparse
import sys

from fsir.errors import FsirError
from fsir.net.login import add_login

_ABOUT = """\
Where the reports of all devices meet. It counts each report exactly once, chooses the active features, estimates the
subspace and publishes it to every device.

  fsir-aggregator task new --sample public.csv --response COLUMN     write a task from public data
  fsir-aggregator task check task.toml                               what will it cost, and what will it give?
  fsir-aggregator serve --task task.toml --broker URL --store sqlite:fsir.db
  fsir-aggregator status --store sqlite:fsir.db                      how far is it?
"""
_SERVE = """\
Publish the tasks, take reports, publish the active set and the subspace, until stopped (Ctrl-C or SIGTERM finish the
batch first). May be killed at any moment: everything counted is in the store, and everything else comes again.

A report is written to the store before the broker is told that it has arrived, and only then does its device get a
receipt. Start it again with the same --store and it continues. Several may share one store on the same machine: give
each its own --worker, and all the same --share, so that the broker deals the reports out.

example:
  fsir-aggregator serve --task task.toml --broker mqtts://broker.example --ca ca.pem \\
      --store sqlite:/var/lib/fsir/reports.db --http 127.0.0.1:9100 --log json
"""
_NEW = """\
Write a commented task file from a sample of PUBLIC data (a volunteer, a published set; never from a device): a CSV file
with a header, numbers in all columns except perhaps the response. Centre and scale come from the sample, and so do
the classes (a response of words or of few whole numbers) or cut points at its quantiles, and the clip. Rows without a
response are left out. Read the file before you use it: everything in it will be public, and devices that have accepted
it accept no other.

With more than 64 features devices send two reports, the first of which is about all features and chooses a few of them,
through a lot of noise. With --keep K the sample chooses, and one report is enough. That is far more accurate with few
devices, as long as what tells the classes of the sample apart does so for others too.
"""
_CHECK = """\
Validate a task file and explain it: what leaves a device, how much noise there is, from how many records on it is
tolerable, what the budget buys, and how far off the subspace is expected to be with so many devices, if the response
explains the given share of the variance of each direction (0.05 is faint, 0.5 is plain to see).
"""
_WITHDRAW = """\
Take a device out again: its reports are subtracted exactly and their bytes deleted, and no new report of it is
accepted. A running daemon publishes the subspace without it within seconds. The active set stays: it is pinned on all
devices. This cannot be undone.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    args = _parser().parse_args(arguments)
    try:
        if args.command == "serve":
            from aggregator.commands.serve import serve

            return serve(args)
        if args.command == "task":
            from aggregator.commands import task_check, task_new

            return task_new.new(args) if args.action == "new" else task_check.check(args)
        from aggregator.commands import show

        return int(getattr(show, args.command)(args))
    except FsirError as error:
        print(f"fsir-aggregator: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `... | head` has seen enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="fsir-aggregator", description=_ABOUT, formatter_class=layout
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_serve(
        commands.add_parser(
            "serve", help="run the daemon", description=_SERVE, formatter_class=layout
        )
    )
    status = commands.add_parser("status", help="tasks, devices, active set, subspace, refusals")
    status.add_argument(
        "--recount", action="store_true", help="also add all stored reports up again and compare"
    )
    subspace = commands.add_parser("subspace", help="the current estimate, for use elsewhere")
    subspace.add_argument(
        "--format", choices=("json", "csv", "npz"), default="json", help="default: %(default)s"
    )
    subspace.add_argument("--output", metavar="FILE", help="default: standard output")
    refused = commands.add_parser("refused", help="what was refused, and why")
    refused.add_argument(
        "--limit", type=int, default=20, metavar="N", help="the newest N (default %(default)s)"
    )
    devices = commands.add_parser("devices", help="which devices have been counted")
    withdraw = commands.add_parser(
        "withdraw", help="take a device out again", description=_WITHDRAW, formatter_class=layout
    )
    withdraw.add_argument("device", metavar="DEVICE")
    for command in (status, subspace, refused, devices, withdraw):
        command.add_argument(
            "--store", required=True, metavar="sqlite:PATH", help="the store of `serve`"
        )
        command.add_argument("--task", metavar="NAME", help="only this task")
    for command in (status, refused, devices, withdraw):
        command.add_argument("--json", action="store_true", help="one JSON object, for programs")
    _add_task(commands.add_parser("task", help="write or check a task file"), layout)
    return parser


def _add_serve(serve: argparse.ArgumentParser) -> None:
    need = serve.add_argument_group("what to serve")
    need.add_argument(
        "--task",
        required=True,
        action="append",
        metavar="FILE",
        help="TOML; may be given more than once",
    )
    need.add_argument(
        "--broker",
        required=True,
        metavar="URL",
        help="mqtt://HOST[:PORT], or mqtts:// with encryption",
    )
    need.add_argument(
        "--store", required=True, metavar="sqlite:PATH", help="created if it does not exist"
    )
    add_login(serve, "the aggregator's")
    manner = serve.add_argument_group("manner")
    manner.add_argument(
        "--http", metavar="HOST:PORT", help="serve /metrics (Prometheus) and /healthz there"
    )
    manner.add_argument("--debounce", type=float, default=2.0, metavar="SECONDS",
                        help="re-estimate at most so often (default %(default)s)")  # fmt: skip
    manner.add_argument(
        "--mqtt",
        choices=("auto", "5", "3.1.1"),
        default="auto",
        help="version (default %(default)s)",
    )
    manner.add_argument("--worker", default="fsir-aggregator", metavar="NAME",
                        help="MQTT client id; another one for each worker (default %(default)s)")  # fmt: skip
    manner.add_argument(
        "--share", metavar="GROUP", help="take part in a shared subscription with other workers"
    )
    manner.add_argument(
        "--log", choices=("text", "json"), default="text", help="default: %(default)s"
    )
    manner.add_argument(
        "--log-level", default="info", choices=("debug", "info", "warning", "error")
    )


def _add_task(task: argparse.ArgumentParser, layout: type[argparse.HelpFormatter]) -> None:
    actions = task.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser(
        "check", help="validate and explain", description=_CHECK, formatter_class=layout
    )
    check.add_argument("file", metavar="FILE")
    check.add_argument(
        "--devices", default="10,100,1000", metavar="K,K,...", help="default: %(default)s"
    )
    check.add_argument(
        "--signal", type=float, default=0.3, metavar="SHARE", help="default: %(default)s"
    )
    check.add_argument("--json", action="store_true", help="one JSON object, for programs")
    new = actions.add_parser(
        "new",
        help="write a task file from a public sample",
        description=_NEW,
        formatter_class=layout,
    )
    new.add_argument(
        "--sample", required=True, metavar="CSV", help="public data with a header line"
    )
    new.add_argument("--response", required=True, metavar="COLUMN", help="what is to be explained")
    new.add_argument(
        "--features", metavar="A,B,...", help="columns to use (default: all that hold numbers)"
    )
    new.add_argument("--keep", type=int, metavar="K",
                     help="of these the K that together tell the slices of the sample apart best")  # fmt: skip
    new.add_argument("--name", metavar="NAME", help="of the task (default: from the file name)")
    new.add_argument(
        "--slices", type=int, default=8, metavar="H", help="of a number (default %(default)s)"
    )
    new.add_argument(
        "--epsilon", type=float, default=1.0, help="total budget of a device (default %(default)s)"
    )
    new.add_argument(
        "--unit-records", type=int, default=1, metavar="G", help="records protected together"
    )
    new.add_argument(
        "--records",
        type=int,
        metavar="N",
        help="per report (default: what keeps the noise tolerable)",
    )
    new.add_argument("--output", metavar="FILE", help="default: standard output")
