"""Files that are no text are known by their first bytes, and tables are not taken for them."""

from __future__ import annotations

import gzip
import io
import sqlite3
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.errors import TableError
from fsir.tables.formats import _FORMATS, known_format, refuse_other_formats


def zipped(*names):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name in names:
            archive.writestr(name, "content")
    return raw.getvalue()


def npz():
    raw = io.BytesIO()
    np.savez(raw, x=np.arange(3))
    return raw.getvalue()


def npy():
    raw = io.BytesIO()
    np.save(raw, np.arange(3))
    return raw.getvalue()


def database():
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE TABLE t (a)")
        db.commit()
        raw = db.serialize()
    db.close()
    return raw


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (gzip.compress(b"a,b", mtime=0), "a gzip archive"),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook (xlsx)"),
        (zipped("data.csv"), "a zip archive"),
        (npz(), "NumPy arrays (npz)"),
        (npy(), "a NumPy array"),
        (database(), "an SQLite database"),
        (b" \n<!DOCTYPE HTML>", "a web page"),
        (b'[{"a": 1}]', "JSON"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_real_files_are_known(raw, name):
    found = known_format(raw)
    assert found is not None
    assert found.name == name
    with pytest.raises(TableError) as caught:
        refuse_other_formats(raw, "--sample x")
    assert str(caught.value) == f"--sample x: this is {name}, not a CSV file; {found.remedy}"


def test_every_format_is_known_by_how_it_begins():
    for one in _FORMATS:
        found = known_format(one.magic + b" and so on")
        assert found is not None
        assert found.name == one.name


@given(st.lists(st.text("abcxyz_09 ", min_size=1, max_size=9), min_size=1, max_size=5))
def test_a_header_is_not_taken_for_anything_else(names):
    assert known_format((",".join(names) + "\n1,2\n").encode()) is None
