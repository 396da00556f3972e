"""The options of `fsir-agent run`, its help, and which of them go together."""

from __future__ import annotations

import argparse
import math

from edge_agent.commands.settings.config import add_config
from edge_agent.commands.settings.options import add_policy, add_ranges, add_state
from edge_agent.errors import SourceError
from edge_agent.output.options import add_outputs, check_outputs
from edge_agent.sources import SCHEMES
from fsir.net.broker import Broker
from fsir.net.login import add_login, password

PAGE = {
    "description": """\
Connect, fetch the task, check it against the owner's policy, learn, report once, wait for the \
receipt, then serve:
project (and classify, where the subspace can) every new record. Reconnects by itself; works \
offline for days.

sources:
  csv:FILE      a table with a header, one line a row; one column is the response that the task \
names
  jsonl:FILE    one JSON object per line; nested values as a.b
  jsonl:-       the same from standard input (what is read and not yet saved is lost in a crash)
  mqtt:TOPIC    sensor readings, JSON or plain numbers, for example mqtt:zigbee2mqtt/kitchen; from \
your own broker
                (--source-broker). Without one from the task's broker: then your readings pass \
over it, in plain sight
                of whoever runs it
  mqtt:@FILE    many topics, one record every so many seconds: a template, as for Home Assistant \
(docs/sensors.md)
  iio:DEVICE    accelerometer and gyroscope of this device (Linux), for example iio:mpu6050; \
windows become records
  sensorlogger:mqtt:TOPIC, sensorlogger:http://HOST:PORT/PATH    a phone of yours with the app \
"Sensor Logger"
  termux:accelerometer+gyroscope    the sensors of the phone on which this runs (docs/termux.md)
  signals:FILE  a recording of both sensors: a table with time, acc_x, ..., gyro_z and, if it has \
one, label

What the last four bring without a label waits for one: `fsir-agent label active`. Others do so \
with --labels.

example:
  fsir-agent run --broker mqtts://broker.example --ca ca.pem --username pi-7 --password-file \
~/.fsir-password \\
      --task activity --device pi-7 --source jsonl:/var/log/sensor.jsonl --follow --state ~/.fsir
""",
    "epilog": """\
exit codes:
  0   done, or told to stop by a signal
  2   a mistake in the settings, or a refused login: the last line says which
  3   the source has ended before a task had its records
  4   a task was refused, or goes on without this device: see `fsir-agent status`
  5   a task had its deadline before this device had its records
  6   a report is held, because its records are plainly not what the task expects: see `fsir-agent \
status`
""",
}
# Options that only some of our sources look at: given with another one, their owner would believe
# that they work. (`--follow` is not among them: whatever is no file waits for more anyway.)
FITS = {"time_column": ("csv", "jsonl", "signals", "mqtt"), "record_id": ("mqtt",)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All of them, in groups."""
    add_config(parser)
    _add_needed(parser)
    add_login(parser, "this device's")
    add_source(parser)
    _add_labels(parser)
    add_outputs(parser)
    _add_manner(parser)


def _add_needed(parser: argparse.ArgumentParser) -> None:
    need = parser.add_argument_group("what to take part in")
    need.add_argument(
        "--broker",
        required=True,
        metavar="URL",
        help="mqtt://HOST[:PORT], or mqtts:// with encryption",
    )
    need.add_argument(
        "--task",
        required=True,
        action="append",
        metavar="FILE|NAME",
        help="the task that you have read, a TOML file: no other of its name is accepted; or the "
        "name of one that is published; may be given more than once",
    )
    need.add_argument(
        "--device", required=True, metavar="ID", help="this device's name in the federation"
    )
    need.add_argument(
        "--source", required=True, metavar="SOURCE", help="where records come from, see above"
    )
    add_state(need, "the device's memory and ledger: do not lose it")
    add_policy(need)


def add_source(parser: argparse.ArgumentParser) -> None:
    """What a source may need to know."""
    source = parser.add_argument_group("source")
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
    add_ranges(source)


def _add_labels(parser: argparse.ArgumentParser) -> None:
    labels = parser.add_argument_group("labels and recognition")
    labels.add_argument(
        "--labels",
        metavar="WHERE",
        help="for records without a label: press (`fsir-agent label`), or also topic:TOPIC on "
        "--source-broker",
    )
    labels.add_argument(
        "--label-delay",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="how long a record waits for such a label before it is learned (default 5)",
    )
    labels.add_argument(
        "--predict",
        action="store_true",
        help="tell what the owner is doing, and nobody else; needs fsir-edge[river]",
    )


def _add_manner(parser: argparse.ArgumentParser) -> None:
    manner = parser.add_argument_group("manner")
    manner.add_argument(
        "--save-every", type=float, default=5.0, metavar="SECONDS", help="checkpoint (default 5)"
    )
    manner.add_argument(
        "--once", action="store_true", help="leave as soon as every task has its receipt"
    )
    manner.add_argument(
        "--stay",
        choices=("yes", "no"),
        help="no: leave the broker when every task has its receipt, and come back now and then for "
        "newer versions of the subspace (default: what the policy says, which is yes without one)",
    )
    manner.add_argument(
        "--log-level", default="info", choices=("debug", "info", "warning", "error")
    )


def check(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other, before anything is opened."""
    if not 0.0 <= args.label_delay < math.inf:
        raise SourceError(f"--label-delay {args.label_delay}: give a number of seconds, 0 or more")
    if args.source.startswith("sensorlogger:mqtt:") and args.source_broker is None:
        raise SourceError(
            f"--source {args.source}: raw signals do not belong on the federation's broker; "
            "give the broker of your own to which the phone sends: --source-broker mqtts://HOST"
        )
    check_source(args)
    check_outputs(args)
    if args.speed is not None and (args.time_column is None or not args.speed > 0):
        raise SourceError(f"--speed {args.speed}: it must be above 0, and needs --time-column")


def check_source(args: argparse.Namespace) -> None:
    """Refuse options that a source would not look at."""
    scheme = args.source.partition(":")[0]
    for option, schemes in FITS.items():
        if getattr(args, option) and scheme in SCHEMES and scheme not in schemes:
            flag = option.replace("_", "-")
            names = " and ".join(f"{name}:" for name in schemes)
            raise SourceError(
                f"--{flag} means nothing to --source {args.source}: it goes with {names}; "
                "leave it out"
            )


def own_broker(args: argparse.Namespace, kind: str) -> Broker | None:
    """A broker of the owner's own, for sensors and labels (`source`) or for the home (`output`)."""
    options = vars(args)
    if options[f"{kind}_broker"] is None:
        return None
    return Broker.parse(
        options[f"{kind}_broker"],
        username=options.get(f"{kind}_username"),
        password=password(options[f"{kind}_password_file"], f"FSIR_{kind.upper()}_PASSWORD"),
        ca=options[f"{kind}_ca"],
        prefix=f"{kind}-",
    )


def label_topic(args: argparse.Namespace) -> str | None:
    """The topic of `--labels topic:TOPIC`.

    None where labels are only pressed, or come with the records.
    """
    if args.labels is None:
        return None
    is_file = args.source.startswith(("csv:", "jsonl:")) and args.source != "jsonl:-"
    if is_file and args.time_column is None:
        raise SourceError(
            f"--labels {args.labels}: nobody knows when the records of {args.source} were made; "
            "name the column that says so with --time-column, or put the labels into the file"
        )
    if args.labels == "press":
        return None
    kind, _, topic = args.labels.partition(":")
    if kind != "topic" or not topic or set(topic) & set("+#\0"):
        raise SourceError(
            f"--labels {args.labels}: write press, or topic:TOPIC with the name of one topic"
        )
    if args.source_broker is None:
        raise SourceError(
            f"--labels {args.labels}: what you are doing does not belong on the federation's "
            "broker; give the broker of your own to which the labels are sent: "
            "--source-broker mqtts://HOST"
        )
    return str(topic)
