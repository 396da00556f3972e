"""What can be said on the command line about any federation."""

from __future__ import annotations

import argparse
from pathlib import Path

from fsir.net.files import writable_folder
from fsir.net.installed import require

BUDGETS = (0.5, 1.0, 2.0, 4.0)  # epsilons that a grid tries


def add_federation(parser: argparse.ArgumentParser) -> None:
    """Broker, budget, faults, and where the results go."""
    add_broker(parser, default="auto")
    _add_privacy(parser)
    _add_faults(parser)
    add_results(parser, seeded="data, noise and faults")


def add_broker(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Which broker; None tells that nobody has asked for one."""
    parser.add_argument(
        "--broker",
        default=default,
        metavar="WHICH",
        help="embedded, mosquitto, auto (mosquitto if installed, else embedded) or a URL "
        "(default auto)",
    )


def add_results(
    parser: argparse.ArgumentParser,
    *,
    seeded: str,
    out: Path = Path("out"),
    written: str = "pictures",
) -> None:
    """What is drawn by lot, where the results go, and for whom they are."""
    parser.add_argument("--seed", type=whole, default=1, help=f"of {seeded} (default %(default)s)")
    parser.add_argument(
        "--out",
        type=Path,
        default=out,
        metavar="DIR",
        help=f"for {written} (default %(default)s)",
    )
    parser.add_argument(
        "--json", action="store_true", help="one object on the last line instead of text"
    )


def add_budgets(parser: argparse.ArgumentParser, about: str) -> None:
    """Several budgets, each tried."""
    default = ",".join(f"{budget:g}" for budget in BUDGETS)
    parser.add_argument(
        "--epsilon",
        type=epsilons,
        default=BUDGETS,
        metavar="LIST",
        help=f"{about} (default {default})",
    )


def add_unit(parser: argparse.ArgumentParser) -> None:
    """What one unit of privacy is."""
    parser.add_argument(
        "--unit-records", type=positive, default=1, metavar="G", help="records protected together"
    )


def _add_privacy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--epsilon", type=float, default=1.0, help="total budget of a device (default %(default)s)"
    )
    parser.add_argument(
        "--delta",
        default=None,
        help="a number, or `paper` for n^-1.1. Default 1e-6; "
        "har and hapt run both and report the paper's first",
    )
    add_unit(parser)
    parser.add_argument(
        "--mechanism", choices=["gaussian", "iid", "vgm", "none"], default="gaussian"
    )


def _add_faults(parser: argparse.ArgumentParser) -> None:
    for name, meaning in (
        ("--dropout", "lose their connection half-way"),
        ("--crash", "crash half-way and return"),
        ("--late", "come late"),
        ("--absent", "never come"),
    ):
        parser.add_argument(name, type=share, default=0.0, metavar="SHARE", help=meaning)


def positive(text: str) -> int:
    """A whole number of at least 1.

    >>> positive("20")
    20
    """
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def whole(text: str) -> int:
    """A whole number of at least 0.

    >>> whole("0")
    0
    """
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def share(text: str) -> float:
    """A number between 0 and 1.

    >>> share("0.25")
    0.25
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share between 0 and 1")
    return value


def picture_folder(path: Path) -> Path:
    """The folder of --out, and somebody who can draw: missed before the work, not after it."""
    require("matplotlib")
    return writable_folder("--out", path)


def epsilons(text: str) -> tuple[float, ...]:
    """Numbers above 0, between commas.

    >>> epsilons("0.5,1")
    (0.5, 1.0)
    """
    try:
        values = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        values = ()
    if not values or not all(0.0 < value < float("inf") for value in values):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers above 0, as 0.5,1")
    return values


def positives(text: str) -> tuple[int, ...]:
    """Whole numbers of at least 1, between commas.

    >>> positives("5,10")
    (5, 10)
    """
    return tuple(dict.fromkeys(positive(part) for part in text.split(",")))


def names(text: str) -> tuple[str, ...]:
    """Texts between commas, each once.

    >>> names("a, b")
    ('a', 'b')
    """
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
