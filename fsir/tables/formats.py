"""Files that are no text: known by their first bytes, and named with the way to a CSV file."""

from __future__ import annotations

from typing import NamedTuple

from fsir.errors import TableError

HEAD_BYTES = 65536  # of a file, by which it is known
_SAVE_AS = "open it and save the sheet as CSV (UTF-8)"
_ZIPPED = b"PK\x03\x04"
_TO_CSV = 'to_csv("NEW.csv", index=False)'
_FROM_SQLITE = "convert it: sqlite3 -header -csv FILE 'SELECT * FROM TABLE'"
_PICTURE = "give a table"


class Format(NamedTuple):
    """How a file of a kind begins, what it is called, and what to do with it."""

    magic: bytes
    name: str
    remedy: str


GZIP = Format(b"\x1f\x8b", "a gzip archive", "unpack it: gunzip FILE")
_FORMATS = (
    GZIP,
    Format(b"PAR1", "a Parquet file", f'convert it: pandas.read_parquet("FILE").{_TO_CSV}'),
    Format(
        b"SQLite format 3\0",
        "an SQLite database",
        _FROM_SQLITE,
    ),
    Format(b"\xd0\xcf\x11\xe0", "an old Excel workbook", _SAVE_AS),
    Format(b"ARROW1", "an Arrow file", f'convert it: pandas.read_feather("FILE").{_TO_CSV}'),
    Format(b"\x89HDF", "an HDF5 file", "write the table in it as CSV"),
    Format(b"\x93NUMPY", "a NumPy array", 'write CSV with a header: numpy.savetxt("NEW.csv", ...)'),
    Format(b"BZh", "a bzip2 archive", "unpack it: bunzip2 FILE"),
    Format(b"\xfd7zXZ", "an xz archive", "unpack it: unxz FILE"),
    Format(b"(\xb5/\xfd", "a Zstandard archive", "unpack it: unzstd FILE"),
    Format(b"7z\xbc\xaf", "a 7z archive", "unpack it and give the table in it"),
    Format(b"\x89PNG", "a PNG picture", _PICTURE),
    Format(b"\xff\xd8\xff", "a JPEG picture", _PICTURE),
    Format(b"GIF8", "a GIF picture", _PICTURE),
    Format(b"%PDF", "a PDF document", _PICTURE),
    Format(b"\x80\x04\x95", "a Python pickle", "write its table as CSV"),
    Format(b"\x80\x05\x95", "a Python pickle", "write its table as CSV"),
    Format(b"<!doctype", "a web page", "download the table itself, not the page that links to it"),
    Format(b"<html", "a web page", "download the table itself, not the page that links to it"),
    Format(b"<?xml", "an XML file", "write its table as CSV"),
    Format(b'{"', "JSON", "write CSV; an agent reads lines of JSON objects as jsonl:FILE"),
    Format(b'[{"', "JSON", "write CSV; an agent reads lines of JSON objects as jsonl:FILE"),
)
# A zip archive names what is in it.
_IN_ZIP = (
    Format(b"xl/", "an Excel workbook (xlsx)", _SAVE_AS),
    Format(b"[Content_Types].xml", "an Excel workbook (xlsx)", _SAVE_AS),
    Format(b"opendocument.spreadsheet", "an OpenDocument sheet (ods)", _SAVE_AS),
    Format(b".npy", "NumPy arrays (npz)", "write CSV with a header: numpy.savetxt(...)"),
    Format(b"", "a zip archive", "unpack it and give the table in it: unzip FILE"),
)


def known_format(head: bytes) -> Format | None:
    """What a file is, by its first bytes; None: it may be text.

    >>> known_format(b"PAR1 and so on").name, known_format(b"a,b,y\\n1,2,x\\n")
    ('a Parquet file', None)
    """
    if head.startswith(_ZIPPED):
        return next(one for one in _IN_ZIP if one.magic in head)
    # Whitespace and capitals make no difference to what is text.
    begins = (head, head[:256].lstrip().lower())
    return next((one for one in _FORMATS if any(b.startswith(one.magic) for b in begins)), None)


def refuse_other_formats(head: bytes, where: str) -> None:
    """Refuse a file that is no text, by its name and with the remedy."""
    if (found := known_format(head)) is not None:
        raise TableError(f"{where}: this is {found.name}, not a CSV file; {found.remedy}")
