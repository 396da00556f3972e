"""Tables as people bring them, each with one mistake; some are read all the same.

Whoever reads tables can be tried on all of them: `lay(mistake, folder)` writes the file and returns
the path that somebody would give.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER = "a,b,who,y"
NEW = "fsir-aggregator task new"


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A table, and how it is asked for."""

    content: bytes | Callable[[], bytes] | None = None  # None: there is a good table
    file: str = "sample.csv"  # the name that is given; the table is always in sample.csv
    response: str = "y"
    by: str | None = None
    options: tuple[str, ...] = ()  # of `task new`


def lay(mistake: Mistake, folder: Path) -> Path:
    """Write the table of a mistake; the path as it is given."""
    content = mistake.content if mistake.content is not None else good()
    (folder / "sample.csv").write_bytes(content() if callable(content) else content)
    return folder / mistake.file


def rows(count: int = 24) -> Iterator[list[str]]:
    """Records of five people in three classes, which two features tell apart."""
    for k in range(count):
        a = (37 * k % 101) / 50 + 2 * (k % 3)
        b = (53 * k % 97) / 50 - (k % 3)
        yield [f"{a:.2f}", f"{b:.2f}", f"p{k // 5}", ("lie", "sit", "walk")[k % 3]]


def written(table: list[list[str]], header: str = HEADER) -> bytes:
    """A table as bytes."""
    return "".join(f"{','.join(row)}\n" for row in [header.split(","), *table]).encode()


def good() -> bytes:
    """Nothing is wrong with it."""
    return written(list(rows()))


def text() -> str:
    """The same as text."""
    return good().decode()


def changed(line: int, old: str, new: str) -> bytes:
    """The good table with a change on one line."""
    lines = text().splitlines(keepends=True)
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    return "".join(lines).encode()


def column(at: int, value: Callable[[int], str]) -> bytes:
    """The good table with other values in a column."""
    table = list(rows())
    for k, row in enumerate(table):
        row[at] = value(k)
    return written(table)


def wide() -> bytes:
    """A million columns."""
    names = ",".join(f"c{j}" for j in range(10**6))
    return f"{names},y\n{'1,' * 10**6}x\n".encode()


PLAIN = ("--plain",)
FILES = {
    "no-such-file": Mistake(file="smaple.csv"),
    "no-such-folder": Mistake(file="nowhere/sample.csv"),
    "folder": Mistake(file="."),
    "empty": Mistake(content=b""),
    "blank-lines": Mistake(content=b"\n\r\n \n"),
    "header-only": Mistake(content=f"{HEADER}\n".encode()),
    "one-row": Mistake(content=written(list(rows(1)))),
    "gzip": Mistake(content=lambda: gzip.compress(good(), mtime=0), options=PLAIN),
    "gzip-damaged": Mistake(content=lambda: gzip.compress(good(), mtime=0)[:-5]),
    "xlsx": Mistake(content=b"PK\x03\x04" + b"\0" * 26 + b"[Content_Types].xml and so on"),
    "zip": Mistake(content=b"PK\x03\x04" + b"\0" * 26 + b"sample.csv and so on"),
    "parquet": Mistake(content=b"PAR1\x15\x04\x15 and so on"),
    "sqlite": Mistake(content=b"SQLite format 3\0\x10\0 and so on"),
    "png": Mistake(content=b"\x89PNG\r\n\x1a\n and so on"),
    "web-page": Mistake(content=b"\n<!DOCTYPE html>\n<html><body>Download</body></html>\n"),
    "json": Mistake(content=b'{"a": 1, "y": "sit"}\n'),
}
TEXTS = {
    "byte-order-mark": Mistake(content=b"\xef\xbb\xbf" + good(), options=PLAIN),
    "utf-16": Mistake(content=text().encode("utf-16"), options=PLAIN),
    "utf-16-without-mark": Mistake(content=text().encode("utf-16-be"), options=PLAIN),
    "latin-1": Mistake(content=changed(5, "lie", "müde").decode().encode("latin-1")),
    "latin-1-header": Mistake(content=text().replace("a,", "größe,", 1).encode("latin-1")),
    "nul-byte": Mistake(content=changed(4, ".", "\0.")),
    "mixed-line-ends": Mistake(content=changed(3, "\n", "\r\n"), options=PLAIN),
    "old-line-ends": Mistake(content=good().replace(b"\n", b"\r"), options=PLAIN),
    "short-row": Mistake(content=changed(6, ",p", "p")),
    "long-row": Mistake(content=changed(6, ",p", ",,p")),
    "open-quote": Mistake(content=changed(7, ",p", ',"p')),
    "text-behind-a-quote": Mistake(content=changed(7, ",p", ',"p"')),
    "quoted-line-break": Mistake(content=changed(7, "p1", '"p\n1"'), options=PLAIN),
    "semicolon": Mistake(content=good().replace(b",", b";"), options=PLAIN),
    "tab": Mistake(content=good().replace(b",", b"\t"), options=PLAIN),
    "bar": Mistake(content=good().replace(b",", b"|"), options=PLAIN),
    "space": Mistake(content=good().replace(b",", b" ")),
    "decimal-comma": Mistake(content=good().replace(b",", b";").replace(b".", b",")),
    "decimal-comma-between-commas": Mistake(
        content=lambda: written([[x.replace(".", ",") for x in row] for row in rows()])
    ),
}
HEADERS = {
    "numbers-without-header": Mistake(
        content=b"5.1,3.5,1\n4.9,3.0,2\n4.7,3.2,1\n", response="class"
    ),
    "record-as-header": Mistake(content=b"".join(good().splitlines(True)[1:])),
    "name-twice": Mistake(content=good().replace(b"b", b"a", 1)),
    "name-twice-but-for-spaces": Mistake(content=good().replace(b"b", b" a ", 1)),
    "unnamed-column": Mistake(content=good().replace(b"b", b"", 1)),
    "unnamed-index": Mistake(content=good().replace(b"a", b"", 1)),
    "spaces-around-names": Mistake(content=good().replace(b"a,b", b" a , b", 1), options=PLAIN),
    "header-again": Mistake(content=good() + good()),
    "million-columns": Mistake(content=wide),
}
VALUES = {
    "text-in-a-number": Mistake(content=changed(9, ".", "o").replace(b"who", b"c"), options=PLAIN),
    "infinite": Mistake(content=column(1, lambda k: "inf" if k == 4 else f"{k}"), options=PLAIN),
    "nan-everywhere": Mistake(
        content=lambda: written([["nan", "NA", row[2], row[3]] for row in rows()])
    ),
    "constant-columns": Mistake(
        content=lambda: written([["1", "2.5", row[2], row[3]] for row in rows()])
    ),
    "words-alone": Mistake(content=lambda: written([["hot", "x", *row[2:]] for row in rows()])),
    "missing-in-many": Mistake(
        content=column(1, lambda k: "" if k % 4 == 0 else f"{k * k % 7}"), options=PLAIN
    ),
    "row-twice": Mistake(content=good() + good().splitlines(True)[3], options=PLAIN),
    "table-twice": Mistake(content=good() + b"".join(good().splitlines(True)[1:])),
}
RESPONSES = {
    "response-misspelt": Mistake(content=good().replace(b"y", b"activity", 1), response="Activty"),
    "response-missing": Mistake(response="mood"),
    "response-empty": Mistake(content=column(3, lambda k: "")),
    "response-nan": Mistake(content=column(3, lambda k: "nan")),
    "one-class": Mistake(content=column(3, lambda k: "sit")),
    "response-constant": Mistake(content=column(3, lambda k: "2.5")),
    "class-with-one-record": Mistake(content=changed(7, "walk", "fly")),
    "classes-but-for-spaces": Mistake(content=changed(7, "walk", "walk ")),
    "word-in-a-number": Mistake(content=column(3, lambda k: "cold" if k == 5 else f"{k}.5")),
    "names-as-classes": Mistake(
        content=lambda: written([[*row[:3], f"id-{k}"] for k, row in enumerate(rows(300))])
    ),
    "nobody-says-who": Mistake(by="person"),
    "one-does-not-say-who": Mistake(content=changed(8, "p1", ""), by="who"),
}
OPTIONS = {
    name: Mistake(options=tuple(options.split()))
    for name, options in {
        "keep-too-many": "--keep 3",
        "keep-none": "--keep 0",
        "slices-of-words": "--slices 4",
        "cuts-of-words": "--cuts 1,2",
        "classes-and-slices": "--classes --slices 3",
        "records-negative": "--records -5",
        "records-per-device-words": "--records-per-device many",
        "records-per-device-zero": "--records-per-device 300,0",
        "devices-none": "--devices 0",
        "unit-records-none": "--unit-records 0",
        "epsilon-zero": "--epsilon 0",
        "delta-large": "--delta 0.5",
        "features-unknown": "--features a,bb",
        "features-twice": "--features a,b,a",
        "features-response": "--features a,y",
        "features-words": "--features a,who",
        "deadline-passed": "--deadline 2020-01-01T00:00:00Z --records 300",
        "deadline-without-zone": "--deadline 2020-01-01 --records 300",
        "deadline-without-records": "--deadline 2199-01-01T00:00:00Z",
        "deadline-trimmed": "--deadline 2199-01-01T00:00:00Z --records 9 --aggregation trimmed",
        "trust-secure": "--trust secure",
        "mechanism-of-the-paper": "--mechanism vgm",
        "screening-with-a-map": "--screening dense",
        "screening-misspelt": "--plain --screening dense,qorum=3",
        "screening-votes": "--plain --screening votes",
        "coordinates-without-a-map": "--plain --coordinates 2",
        "coordinates-too-many": "--coordinates 9",
        "sigma-with-a-map": "--sigma-0 0.1",
        "sigma-and-records": "--plain --sigma-0 0.1 --records 9",
        "dimension-too-large": "--dimension 5",
        "dimension-word": "--dimension two",
        "delay-negative": "--max-delay -1",
        "name-with-a-slash": "--name a/b",
        "output-nowhere": "--output nowhere/task.toml",
    }.items()
}
NUMBERS = {
    name: Mistake(content=column(3, lambda k: f"{k * 0.37:.2f}"), options=tuple(options.split()))
    for name, options in {
        "slices-too-many": "--slices 20",
        "slices-beyond-all": "--slices 300",
        "slices-one": "--slices 1",
        "cuts-falling": "--cuts 3,2",
        "cuts-words": "--cuts low,high",
        "cuts-beyond-the-sample": "--cuts 3,900",
    }.items()
}
TABLES = FILES | TEXTS | HEADERS | VALUES | RESPONSES  # what is wrong is the table
MISTAKES = TABLES | OPTIONS | NUMBERS
