"""Which devices are enrolled, as a list, the output of `deploy/provision list` or its book say it.

A line is a name, or a line of `provision list`, or one of an authority's `index.txt`. Services and
certificates that were revoked or have expired are left out. Everything else that is not a name is a
mistake, and is told with its line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from fsir.errors import FsirError, shown
from fsir.limits import DEVICE_NAME

NAME_RULE = "1 to 64 letters, digits, '.', '_' or '-', the first of them a letter or a digit"
_BOOK_FIELDS = 6  # status, expiry, revocation, serial, file, subject; separated by tabs
_LIST_STATES = ("valid", "revoked", "expired")  # the second word of a line of `provision list`
_MARK = "\ufeff"  # with which some editors begin a file
_MOST_FAULTS = 5  # told at once


@dataclass(frozen=True, kw_only=True)
class Enrolled:
    """What a list says: every name once, those that were left out, and those that came twice."""

    names: tuple[str, ...]
    left_out: tuple[str, ...]  # whose certificates were all revoked, or have expired
    repeated: dict[str, list[int]]  # names that a plain list has more than once, and their lines


def enrolled(lines: Iterable[str], now: float) -> Enrolled:
    """The names of enrolled devices.

    >>> found = enrolled(["# ours", "pi-02", "", "pi-01", "pi-02"], 0.0)
    >>> found.names, found.repeated
    (('pi-02', 'pi-01'), {'pi-02': [2, 5]})
    """
    valid: dict[str, bool] = {}  # of one with several certificates, whether any is
    listed: dict[str, list[int]] = {}
    faults = []
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(_MARK).rstrip()
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        name, state = _read(text, now)
        if state is not None and name.startswith("service:"):
            continue
        if not DEVICE_NAME.match(name):
            faults.append(f"line {number}: {shown(name)}")
            continue
        if state is None:
            listed.setdefault(name, []).append(number)
        valid[name] = valid.get(name, False) or state in (None, "valid")
    if faults:
        more = f" and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
        raise FsirError(
            f"{', '.join(faults[:_MOST_FAULTS])}{more}: not the name of a device, "
            f"which has {NAME_RULE}; nothing was changed"
        )
    return Enrolled(
        names=tuple(name for name, good in valid.items() if good),
        left_out=tuple(name for name, good in valid.items() if not good),
        repeated={name: numbers for name, numbers in listed.items() if len(numbers) > 1},
    )


def _read(text: str, now: float) -> tuple[str, str | None]:
    """The name on a line, and the state of its certificate if the line is about one."""
    fields = text.split("\t")
    if len(fields) == _BOOK_FIELDS and fields[-1].startswith("/CN="):
        return fields[-1].removeprefix("/CN="), _book_state(fields, now)
    words = text.split()
    if len(words) == 5 and words[1] in _LIST_STATES and words[2] == "until":
        return words[0], words[1]
    return text.strip(), None


def _book_state(fields: list[str], now: float) -> str:
    """A book says V of what has expired, too, until somebody tidies it up."""
    if fields[0] != "V":
        return "revoked" if fields[0] == "R" else "expired"
    try:
        # The century is written only from 2050 on.
        expires = datetime.strptime(fields[1][-13:], "%y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return "expired"
    return "valid" if expires.timestamp() > now else "expired"
