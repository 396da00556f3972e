"""The command `fsir-agent`."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from fsir.errors import FsirError
from fsir.net.login import add_login

_ABOUT = """\
The agent of one device. It learns from the device's own stream, reports once with noise that protects every record,
and then uses the subspace that it gets back to turn each new record into a few numbers. Nothing else ever leaves.

  fsir-agent check --task task.toml            what would this task take from me, and do I agree?
  fsir-agent run --broker mqtts://host ...     take part
  fsir-agent status --state DIR                how far is it?
  fsir-agent ledger --state DIR                what have I given away so far?
  fsir-agent label active --state DIR          this is what I am doing now: learn it
  fsir-agent features walk.csv ...             what would it learn from this recording?
  fsir-agent forget --state DIR                delete what was learned and not yet reported
"""
_RUN = """\
Connect, fetch the task, check it against the owner's policy, learn, report once, wait for the receipt, then serve:
project (and classify, where the subspace can) every new record. Reconnects by itself; works offline for days.

sources:
  csv:FILE      a table with a header, one line a row; one column is the response that the task names
  jsonl:FILE    one JSON object per line; nested values as a.b
  jsonl:-       the same from standard input (what is read and not yet saved is lost in a crash)
  mqtt:TOPIC    sensor readings as JSON, for example mqtt:zigbee2mqtt/kitchen; from your own broker (--source-broker).
                Without one from the task's broker: then your readings pass over it, in plain sight of whoever runs it
  iio:DEVICE    accelerometer and gyroscope of this device (Linux), for example iio:mpu6050; windows become records
  sensorlogger:mqtt:TOPIC, sensorlogger:http://HOST:PORT/PATH    a phone of yours with the app "Sensor Logger"
  signals:FILE  a recording of both sensors: a table with time, acc_x, ..., gyro_z and, if it has one, label

What the last three bring without a label waits for one: `fsir-agent label active`. Others do so with --labels.

example:
  fsir-agent run --broker mqtts://broker.example --ca ca.pem --username pi-7 --password-file ~/.fsir-password \\
      --task activity --device pi-7 --source jsonl:/var/log/sensor.jsonl --follow --state ~/.fsir
"""
_EXIT_CODES = """\
exit codes:
  0   done, or told to stop by a signal
  2   a mistake in the settings, or a refused login: the last line says which
  3   the source has ended before a task had its records
  4   a task was refused, or goes on without this device: see `fsir-agent status`
"""
_LABEL = """\
Say what you are doing. The running agent labels the records of that time with it, until the next label or until it
expires. Nothing about it leaves the device: what is learned from it is reported with noise, like everything else.

  fsir-agent label active --state DIR              from now on
  fsir-agent label active --since 20 --state DIR   from 20 seconds ago; what is learned already stays
  fsir-agent label --clear --state DIR             from now on it is not known
"""
_FEATURES = """\
Write the records that an agent would learn from a recording (`--source signals:FILE`) as a CSV table: 561 features of
each window of 2.56 s, scaled to [-1, 1], and its label. Nothing leaves the device. It is for your own eyes, or, if you
volunteer it, the PUBLIC sample of a task: `fsir-aggregator task new --sample` takes features, centre and clip from it.

  fsir-agent features walk.csv --acc-range 8 --gyro-range 34.9 --output sample.csv
"""
_POLICY = "the owner's policy, a TOML file; without one: total epsilon 2 at delta 1e-6, proven mechanisms only"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    # A device has other things to do: the threads of BLAS would spin between two records, for nothing.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    args = _parser().parse_args(arguments)
    level = getattr(args, "log_level", "warning").upper()
    logging.basicConfig(
        level=level, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    try:
        if args.command == "run":
            from edge_agent.commands.run import (
                start,  # only what a command needs is imported: devices are small
            )

            return start(args)
        if args.command == "label":
            from edge_agent.commands.label import label

            return label(args)
        if args.command == "features":
            from edge_agent.commands.features import features

            return features(args)
        from edge_agent.commands import show

        return int(getattr(show, args.command)(args))
    except FsirError as error:
        print(f"fsir-agent: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `... | head` has seen enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="fsir-agent", description=_ABOUT, formatter_class=layout)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="take part in one or more tasks",
        description=_RUN,
        epilog=_EXIT_CODES,
        formatter_class=layout,
    )
    _add_run(run)
    check = commands.add_parser(
        "check", help="what a task would take, and whether the policy allows it"
    )
    check.add_argument("--task", required=True, metavar="FILE", help="the task, a TOML file")
    check.add_argument("--policy", metavar="FILE", help=_POLICY)
    check.add_argument(
        "--state", metavar="DIR", help="also count what this device has spent already"
    )
    status = commands.add_parser("status", help="how far each task is")
    ledger = commands.add_parser(
        "ledger", help="every release that this device ever made, and the total"
    )
    label = commands.add_parser(
        "label", help="what you are doing: the button", description=_LABEL, formatter_class=layout
    )
    _add_label(label)
    features = commands.add_parser(
        "features",
        help="the records of a recording, as a table",
        description=_FEATURES,
        formatter_class=layout,
    )
    _add_features(features)
    forget = commands.add_parser(
        "forget", help="delete what was learned and not yet reported, and labels; the ledger stays"
    )
    forget.add_argument("--task", metavar="NAME", help="only of this task")
    forget.add_argument("--unpin", action="store_true", help="also let another task take the name")
    for command in (status, ledger, label, forget):
        command.add_argument(
            "--state", required=True, metavar="DIR", help="the state directory of the agent"
        )
    for command in (status, ledger):
        command.add_argument("--policy", metavar="FILE", help=_POLICY)
    for command in (check, status, ledger, label, forget):
        command.add_argument("--json", action="store_true", help="one JSON object, for programs")
    return parser


def _add_label(label: argparse.ArgumentParser) -> None:
    label.add_argument("label", nargs="?", metavar="LABEL", help="one of the classes of the task")
    label.add_argument("--clear", action="store_true", help="from here on it is not known")
    begun = label.add_mutually_exclusive_group()
    begun.add_argument(
        "--since", type=float, default=0.0, metavar="SECONDS", help="it began so many seconds ago"
    )
    begun.add_argument(
        "--at", metavar="TIME", help="it began at this time: ISO 8601, or seconds since the epoch"
    )
    label.add_argument("--for", type=float, dest="lasts", metavar="SECONDS",
                       help="how long it lasts; without this it expires half an hour after the press")  # fmt: skip


def _add_features(features: argparse.ArgumentParser) -> None:
    features.add_argument(
        "recording", metavar="FILE", help="a table with time, acc_x, ..., gyro_z, and label"
    )
    _add_ranges(features)
    features.add_argument("--response", default="activity", metavar="NAME",
                          help="how the column with the labels is called (default %(default)s)")  # fmt: skip
    features.add_argument("--output", metavar="FILE", help="default: standard output")


def _add_ranges(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--acc-range", type=float, metavar="G", help="full scale of the accelerometer, if not known"
    )
    group.add_argument("--gyro-range", type=float, metavar="RAD/S", help="and of the gyroscope")


def _add_run(run: argparse.ArgumentParser) -> None:
    need = run.add_argument_group("what to take part in")
    need.add_argument(
        "--broker",
        required=True,
        metavar="URL",
        help="mqtt://HOST[:PORT], or mqtts:// with encryption",
    )
    need.add_argument(
        "--task", required=True, action="append", metavar="NAME", help="may be given more than once"
    )
    need.add_argument(
        "--device", required=True, metavar="ID", help="this device's name in the federation"
    )
    need.add_argument(
        "--source", required=True, metavar="SOURCE", help="where records come from, see above"
    )
    need.add_argument(
        "--state",
        required=True,
        metavar="DIR",
        help="the device's memory and ledger: do not lose it",
    )
    need.add_argument("--policy", metavar="FILE", help=_POLICY)
    add_login(run, "this device's")
    source = run.add_argument_group("source")
    source.add_argument("--follow", action="store_true", help="wait for more at the end of a file")
    source.add_argument(
        "--time-column", metavar="NAME", help="replay at the pace at which this column was recorded"
    )
    source.add_argument("--speed", type=float, metavar="X", help="times that pace (default 1)")
    source.add_argument(
        "--record-id", metavar="NAME", help="a value that tells a repeated reading from a new one"
    )
    source.add_argument(
        "--source-broker", metavar="URL", help="a broker of your own, where sensors and labels are"
    )
    source.add_argument(
        "--source-password-file", metavar="FILE", help="or the variable FSIR_SOURCE_PASSWORD"
    )
    source.add_argument("--source-ca", metavar="FILE")
    _add_ranges(source)
    labels = run.add_argument_group("labels and recognition")
    labels.add_argument("--labels", metavar="WHERE",
                        help="for records without a label: press (`fsir-agent label`), or also topic:TOPIC on "
                             "--source-broker")  # fmt: skip
    labels.add_argument("--label-delay", type=float, default=5.0, metavar="SECONDS",
                        help="how long a record waits for such a label before it is learned (default 5)")  # fmt: skip
    labels.add_argument("--predict", action="store_true",
                        help="tell what the owner is doing, on this device only; needs fsir-edge[river]")  # fmt: skip
    manner = run.add_argument_group("manner")
    manner.add_argument("--output", default="-", metavar="WHERE",
                        help="served records as JSON lines: - (standard output), a file, or unix:PATH")  # fmt: skip
    manner.add_argument(
        "--save-every", type=float, default=5.0, metavar="SECONDS", help="checkpoint (default 5)"
    )
    manner.add_argument(
        "--once", action="store_true", help="leave as soon as every task has its receipt"
    )
    manner.add_argument(
        "--log-level", default="info", choices=("debug", "info", "warning", "error")
    )


if __name__ == "__main__":
    sys.exit(main())
