"""`fsir-sim csv`: a table of one's own as a federation."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from fsir.errors import FsirError
from fsir.net.files import writing
from fsir.task.task import Task
from sim_devices.commands.options import (
    add_broker,
    add_budgets,
    add_results,
    add_unit,
    names,
    picture_folder,
    positive,
    positives,
    share,
)
from sim_devices.commands.trust import add_trust, cohort_of
from sim_devices.datasets.population import Population
from sim_devices.network.federation import Outcome, federate
from sim_devices.own import told
from sim_devices.own.cells import DRAWS, Laboratory, in_process
from sim_devices.own.files import read_files
from sim_devices.own.setup import Own, Roles, prepare
from sim_devices.own.study import FEWEST, Wishes, axes, study
from sim_devices.results.progress import watched

_ABOUT = """\
What would a federation of my own records be worth? Give a table (CSV with a header) in which one \
column names the
device, or one file for each device, and say which column is to be explained: words and few whole \
numbers are classes,
other numbers a quantity. The first device or devices of the table are taken as the public sample, \
some others by lot
are unseen and the test, and the rest take part, each with its own noise. Everything that is \
chosen, features, clip and
map, is chosen by rules on the public sample alone.

It ends with a sentence, a table, a picture and a page: how often the federation is right about \
the unseen (for a
quantity, R^2), against epsilon, devices and records, beside what the public sample, one device, \
no noise or all records
in one place would give. Fleets larger than yours are simulated, and marked.

Devices, broker and aggregator are the real ones, over MQTT; with --fast the same sums, noise and \
estimates are made in
one process, five times for each point, and the median is shown.
"""
_EXAMPLES = """\
examples:
  fsir-sim csv steps.csv --response activity --by person --fast    a first look
  fsir-sim csv phones/*.csv --response activity --epsilon 1        a file for each device, over MQTT
  fsir-sim csv steps.csv --response activity --by person --fast --devices 10,20,100 --records 50,100
  fsir-sim csv homes.csv --response watts --by house --public house-1,house-2 --features sun,wind
"""
PAGE = {
    "description": _ABOUT,
    "epilog": _EXAMPLES,
    "formatter_class": argparse.RawDescriptionHelpFormatter,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The table, what is tried, and where the results go."""
    _add_table(parser)
    _add_tried(parser)
    parser.add_argument(
        "--fast", action="store_true", help="in one process: no agents, no broker, no aggregator"
    )
    add_broker(parser)
    add_results(parser, seeded="lots and noise", written="picture and page")


def _add_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tables", nargs="+", type=Path, metavar="TABLE", help="CSV with a header")
    parser.add_argument(
        "--response", required=True, metavar="COLUMN", help="what is to be explained"
    )
    parser.add_argument(
        "--by",
        metavar="COLUMN",
        help="of which device each row is; without it the name of a file names its device",
    )
    parser.add_argument(
        "--features",
        type=names,
        metavar="A,B,...",
        help="columns to use (default: all that hold numbers in the public sample)",
    )
    parser.add_argument(
        "--public",
        type=names,
        default=(),
        metavar="NAME,...",
        help="whose records are public, and who are no devices (default: the first of the table, "
        "as few as have two records of every class together)",
    )
    parser.add_argument(
        "--unseen",
        type=share,
        default=0.3,
        metavar="SHARE",
        help="of the others, who take no part and are the test (default %(default)s; three at "
        "least where there are enough)",
    )
    parser.add_argument(
        "--slices", type=positive, default=8, metavar="H", help="of a number (default %(default)s)"
    )


def _add_tried(parser: argparse.ArgumentParser) -> None:
    add_budgets(parser, "total budgets of a device; the one nearest to 1 is what it is all about")
    parser.add_argument(
        "--devices",
        type=positives,
        default=(),
        metavar="LIST",
        help="how many take part; more than there are, are simulated (default: a quarter, half, "
        "all, twice and four times as many as there are)",
    )
    parser.add_argument(
        "--records",
        type=positives,
        default=(),
        metavar="LIST",
        help="after which a device reports (default: a quarter, half and all of the longest)",
    )
    parser.add_argument(
        "--delta", type=float, default=1e-6, help="beside epsilon (default %(default)s)"
    )
    add_unit(parser)
    add_trust(parser)


def run(options: argparse.Namespace) -> int:
    """Read, run, tell."""
    _check(options)
    start = time.monotonic()
    rows = read_files(options.tables, options.response, options.by, options.features)
    own = prepare(
        rows,
        Roles(
            public=options.public, unseen=options.unseen, slices=options.slices, seed=options.seed
        ),
    )
    wishes = Wishes(epsilons=options.epsilon, devices=options.devices, records=options.records)
    axes(own, wishes)  # what is asked for must be there before a folder is made for it
    directory = picture_folder(options.out / own.name)
    with watched(own.name, "points") as progress:
        found = study(own, wishes, _laboratory(options, own), progress)
    with writing("--out", directory):
        png, html = told.write(found, directory)
    if options.json:
        seconds = {"seconds": round(time.monotonic() - start, 2)}
        print(json.dumps(told.as_object(found, options.seed, png, html) | seconds))
    else:
        told.show(found, png, html)
    return 0


def _check(options: argparse.Namespace) -> None:
    cohort_of(options, FEWEST)  # what cannot be meant is said before a table is read
    if options.fast and options.broker is not None:
        raise FsirError(
            f"--broker {options.broker}: with --fast there is no broker; leave out one of the two"
        )


def _laboratory(options: argparse.Namespace, own: Own) -> Laboratory:
    def cohort(devices: int) -> int | None:
        return cohort_of(options, devices)

    def alone(population: Population, task: Task, seed: int) -> Outcome:
        return in_process(population, task, seed, cohort(len(population.devices)))

    def over_mqtt(population: Population, task: Task, seed: int) -> Outcome:
        return federate(
            population,
            task,
            broker=options.broker or "auto",
            seed=seed,
            cohort=cohort(len(population.devices)),
        )

    return Laboratory(
        population=own.scenario.population,
        sample=own.sample,
        federate=alone if options.fast else over_mqtt,
        cohort=cohort,
        draws=DRAWS if options.fast else 1,
        delta=options.delta,
        unit_records=options.unit_records,
        seed=options.seed,
    )
