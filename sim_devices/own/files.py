"""Tables in CSV files: one with a column that names the device, or one file for each device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fsir.errors import FsirError
from fsir.tables.columns import column
from fsir.tables.csv_table import CsvTable, some
from sim_devices.own.rows import TYPED, Feature, Rows, check_columns, plain_name


@dataclass(eq=False)
class _Gathered:
    """The rows of all files, in the order of the first header."""

    devices: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    unnamed: int = 0


def read_files(
    paths: Sequence[Path], response: str, by: str | None = None, wanted: Sequence[str] | None = None
) -> Rows:
    """All rows of all files; without `by`, the name of a file names its device."""
    _refuse_twice(paths, by)
    tables = [_read(path) for path in paths]
    header = tables[0].header
    check_columns(header, str(paths[0]), TYPED, response=response, by=by, features=wanted)
    if by is None and len(tables) == 1:
        raise FsirError(
            f"--by: {paths[0]} is one table, and nothing says which row is of which device; name "
            f"the column that does (it has {some(header)}), or give one file for each device"
        )
    found = _gathered(tables, by)
    at = {name: k for k, name in enumerate(header)}
    names = wanted or [name for name in header if name not in (response, by)]
    return Rows(
        name=_name(paths),
        response=response,
        by=by,
        devices=found.devices,
        responses=[row[at[response]].strip() for row in found.rows],
        features={
            name: _feature([row[at[name]] for row in found.rows], found.lines) for name in names
        },
        where=lambda row: f"line {found.lines[row]} of {found.paths[row]}",
        strict=wanted is not None,
        notes=_notes(tables, found, by),
    )


def _refuse_twice(paths: Sequence[Path], by: str | None) -> None:
    """Refuse a file that is given twice, and two files of one name where that names the device."""
    places: set[Path] = set()
    names: dict[str, Path] = {}
    for path in paths:
        place = path.resolve()
        if place in places:
            raise FsirError(f"{path}: is given twice; give each table once")
        places.add(place)
        first = names.setdefault(path.stem, path)
        if by is None and first is not path:
            raise FsirError(
                f"{path}: its name would name the same device as {first}; give files different "
                "names, or name the column that tells devices apart by --by"
            )


def _notes(tables: Sequence[CsvTable], found: _Gathered, by: str | None) -> tuple[str, ...]:
    unnamed = f"{found.unnamed} rows left out: {by} is empty"
    about = [f"{table.path}: {note}" for table in tables for note in table.notes]
    return (*([unnamed] if found.unnamed else []), *about)


def _name(paths: Sequence[Path]) -> str:
    """Of the federation: that of its file, or of the folder with the files of its devices."""
    first = paths[0].resolve()
    return plain_name(first.stem if len(paths) == 1 else first.parent.name, "own")


def _read(path: Path) -> CsvTable:
    try:
        return CsvTable.read(path)
    except FsirError as error:  # the reader's other users give it a file by an option
        raise FsirError(str(error).removeprefix("--sample ")) from None


def _gathered(tables: Sequence[CsvTable], by: str | None) -> _Gathered:
    found = _Gathered()
    header = tables[0].header
    for table in tables:
        order = _order(table, tables[0])
        for row, line in zip(table.rows, table.lines, strict=True):
            device = table.path.stem if by is None else row[table.header.index(by)].strip()
            if not device:
                found.unnamed += 1
                continue
            found.devices.append(device)
            found.rows.append(row if table.header == header else [row[k] for k in order])
            found.lines.append(line)
            found.paths.append(table.path)
    return found


def _order(table: CsvTable, first: CsvTable) -> list[int]:
    """Where the columns of the first table stand in another one."""
    if set(table.header) != set(first.header):
        other = sorted(set(table.header) ^ set(first.header))
        raise FsirError(
            f"{table.path}: its columns are not those of {first.path} ({some(other)}); give tables "
            "with the same header"
        )
    return [table.header.index(name) for name in first.header]


def _feature(values: list[str], lines: list[int]) -> Feature:
    """The numbers of a column, also where some of its values are none."""
    whole = column(values, lines)
    if whole.reason is None:
        return Feature(whole.values, {})
    found = whole.values
    strange = {}
    for row, text in enumerate(values):
        single = column([text], [lines[row]])
        found[row] = single.values[0]
        if single.reason is not None:
            strange[row] = text
    return Feature(found, strange)
