"""Encoding, separator and header of a table are told by its first lines."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.errors import TableError
from fsir.tables.dialect import SEPARATORS, fields_of, refuse_decimal_commas, separator_of
from fsir.tables.encodings import decoded, encoding_of, lines_of
from fsir.tables.header import column_names, is_header_again, look_like_a_record

WORDS = st.text("abcdefgh", min_size=1, max_size=5)
OTHERS = st.text(SEPARATORS, max_size=2)


@given(st.lists(st.tuples(WORDS, OTHERS, WORDS), min_size=2, max_size=6), st.data())
def test_rows_tell_the_separator_of_a_header_that_has_several(parts, data):
    separator = data.draw(st.sampled_from(SEPARATORS))
    names = [a + middle.replace(separator, "") + b for a, middle, b in parts]
    row = separator.join(str(k) for k in range(len(names)))
    assert separator_of([separator.join(names), row, row]) == separator
    # Without rows it is one of those that the header has most of.
    alone = separator_of([separator.join(names)])
    assert separator.join(names).count(alone) >= separator.join(names).count(separator)


TABLES = st.lists(st.text("abcdef0123456789.,", min_size=1, max_size=20), min_size=1, max_size=9)


@given(TABLES, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]))
def test_the_encoding_of_a_table_is_known_with_or_without_its_mark(lines, encoding):
    text = "\n".join(lines)
    raw = text.encode(encoding)
    assert decoded(raw, encoding_of(raw), "here") == text


@given(st.text("a\r\n", max_size=30))
def test_lines_are_those_of_an_editor(text):
    assert list(lines_of(text)) == text.splitlines(keepends=True)


def test_decimal_commas_are_refused_where_the_comma_is_free():
    rows = [(2, "x;12;north"), (5, "y; -3,25e-1 ;south")]
    with pytest.raises(TableError, match="here: line 5, column 'b': '-3,25e-1' has a decimal"):
        refuse_decimal_commas(rows, ["a", "b", "c"], ";", "here")
    refuse_decimal_commas([(2, "1,5")], ["a", "b"], ",", "here")
    refuse_decimal_commas([(2, "1,5,7;a,b;3.5;1,x")], ["a", "b", "c", "d"], ";", "here")


@given(st.lists(WORDS, min_size=1, max_size=9, unique=True))
def test_names_that_are_there_once_are_taken_without_their_spaces(names):
    spaced = [f" {name}\t" for name in names]
    assert column_names(spaced, "here") == names
    assert is_header_again(spaced, names)
    assert not is_header_again([*spaced, "more"], names)
    with pytest.raises(TableError, match="more than once"):
        column_names([*spaced, names[0]], "here")


def test_numbers_may_be_names_if_not_all_of_them_are():
    assert column_names(["0", "1", "2", "y"], "here") == ["0", "1", "2", "y"]
    assert not look_like_a_record(["0", "1", "2", "y"])
    assert look_like_a_record(["0.5", "-1", "2", "y"])
    with pytest.raises(TableError, match="holds numbers alone"):
        column_names(["0", "1", "2"], "here")


@given(st.text("ab01,;.\t \"'\r\n\0\u2028", max_size=30), st.sampled_from(SEPARATORS))
def test_the_values_of_a_line_are_those_of_the_csv_module(line, separator):
    def outcome(fields):
        try:
            return fields()
        except (csv.Error, StopIteration) as error:
            return type(error)

    expected = outcome(lambda: next(csv.reader([line], delimiter=separator, strict=True)))
    assert outcome(lambda: fields_of(line, separator)) == expected


def test_a_value_longer_than_the_csv_module_allows_is_an_error():
    with pytest.raises(csv.Error):
        fields_of("a" * 140_000, ",")
